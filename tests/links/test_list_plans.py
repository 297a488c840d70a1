"""How SQLite reads lists of links: what is skipped, counted or filtered is read from an index alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.dashboard.links.filters import LISTING
from app.input.listing import find_page
from tests.factories import Factory

URLS, DATES, CHANGES, IDS = (
    f"SEARCH link USING COVERING INDEX ix_link_by_{name} (workspace_id=?"
    for name in ("url", "datetime", "last_datetime", "id")
)
SINCE, UNTIL = (DATES.replace("=?", f"=? AND datetime{sign}?") for sign in "><")
CLICKS = "SEARCH link_clicks USING COVERING INDEX ix_link_clicks_workspace_id_clicks_link_id (workspace_id=?"
PASSWORD = "SEARCH link USING INDEX ix_link_password (workspace_id=?"
SEARCH = "SEARCH link USING INDEX ix_link_by_id (workspace_id=? AND id=?"
# what is asked for, how links are counted, and how those of a page are found
PLANS: Mapping[str, tuple[dict[str, str], str, str]] = {
    "nothing": ({}, IDS, IDS),
    "a type": ({"type": "link"}, IDS, IDS),
    "by id": ({"order_by": "link_id"}, IDS, IDS),
    "by name": ({"order_by": "url"}, IDS, URLS),
    "by date": ({"order_by": "datetime"}, IDS, DATES),
    "by last change": ({"order_by": "last_datetime"}, IDS, CHANGES),
    "by clicks": ({"order_by": "clicks"}, IDS, CLICKS),
    "no project": ({"project_id": "0"}, IDS, IDS),
    "no domain": ({"domain_id": "0"}, IDS, IDS),
    "made since": ({"datetime_start": "2026-01-01"}, SINCE, IDS),
    "made until": ({"datetime_end": "9999-01-01", "project_id": "0"}, UNTIL, IDS),
    "active": ({"state": "active"}, IDS, IDS),
    "off": ({"state": "off"}, IDS, IDS),
    "targeted": ({"rule": "targeting"}, IDS, IDS),
    "cloaked": ({"rule": "cloaking"}, IDS, IDS),
    "with a password": ({"rule": "password"}, PASSWORD, PASSWORD),
    "by name, without a project": ({"project_id": "0", "order_by": "url"}, IDS, URLS),
    "by last change, of active ones": ({"state": "active", "order_by": "last_datetime"}, IDS, CHANGES),
    "a search": ({"search": "one"}, SEARCH, SEARCH),
}


@pytest.mark.parametrize("order_type", ["ASC", "DESC"])
def test_plans(order_type: str, alice: User, factory: Factory, session: scoped_session[Session]) -> None:
    rules = {"password_hash": "$argon2id$", "cloaking_is_enabled": True}
    factory.link(alice, "one", targeting_type="rotation", **rules)
    factory.link(alice, "off", is_enabled=False, **rules)
    session.commit()
    workspace_id = access_of(alice).workspace_id
    for name, (params, of_count, of_page) in PLANS.items():
        asked = asked_by(session, workspace_id, {**params, "order_type": order_type})
        counts = [
            one
            for one in asked
            if "count(*)" in one[0] and "FROM link_search" not in one[0].partition("WHERE")[0]
        ]
        pages = [one for one in asked if "count(*)" not in one[0] and "LIMIT" in one[0]]
        plans = [plan_of(session.connection(), statements[-1]) for statements in (counts, pages)]
        assert plans == [of_count + plans[0][len(of_count) :], of_page + plans[1][len(of_page) :]], name


def asked_by(
    session: scoped_session[Session], workspace_id: int, params: dict[str, str]
) -> list[tuple[str, Any]]:
    """The statements that find a page, with their values."""
    asked: list[tuple[str, Any]] = []

    def listen(_connection: Any, _cursor: Any, statement: str, values: Any, *_more: Any) -> None:
        asked.append((statement, values))

    connection = session.connection()
    sa.event.listen(connection, "before_cursor_execute", listen)
    find_page(LISTING, workspace_id, params)
    sa.event.remove(connection, "before_cursor_execute", listen)
    return asked


def plan_of(connection: sa.Connection, asked: tuple[str, Any]) -> str:
    """How a statement begins to read, in SQLite's words."""
    plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked[0]}", asked[1])
    return str(plan.first()[3])  # type: ignore[index]
