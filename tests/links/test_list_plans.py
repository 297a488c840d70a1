"""How SQLite reads lists of links: what is skipped, counted or filtered is read from an index alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa
from app.input.page_reading import Reach
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.dashboard.links.filters import LISTING
from app.input.listing import find_page
from tests.factories import Factory

ALL, URLS, DATES, CHANGES = (  # with no end, which would be compared with each link that is skipped
    f"SEARCH link USING COVERING INDEX ix_link_{name} (workspace_id{{reach}}?)"
    for name in (
        "filtered",
        "workspace_id_url_id",
        "workspace_id_datetime_id",
        "workspace_id_last_datetime_id",
    )
)
IDS = "SEARCH link USING COVERING INDEX ix_link_filtered (workspace_id=?"
ROWS = IDS.replace("COVERING ", "")  # the links themselves, in the order of their ids
# what is asked for, how links are counted ("": blocks know it), and how those of a page are found
PLANS: Mapping[str, tuple[dict[str, str], str, str]] = {
    "nothing": ({}, "", ALL),
    "a type": ({"type": "link"}, "", ALL),
    "by id": ({"order_by": "link_id"}, "", ALL),
    "by name": ({"order_by": "url"}, "", URLS),
    "by date": ({"order_by": "datetime"}, "", DATES),
    "by last change": ({"order_by": "last_datetime"}, "", CHANGES),
    "by clicks": ({"order_by": "clicks"}, "", IDS),
    "no project": ({"project_id": "0"}, IDS, IDS),
    "no domain": ({"domain_id": "0"}, IDS, IDS),
    "made since": ({"datetime_start": "2026-01-01"}, IDS, IDS),
    "made until": ({"datetime_end": "9999-01-01", "project_id": "0"}, IDS, IDS),
    "active": ({"state": "active"}, IDS, IDS),
    "off": ({"state": "off"}, IDS, IDS),
    "targeted": ({"rule": "targeting"}, IDS, IDS),
    "cloaked": ({"rule": "cloaking"}, IDS, IDS),
    "with a password": ({"rule": "password"}, ROWS, ROWS),
    "by name, sorted": ({"project_id": "0", "order_by": "url"}, IDS, ROWS),
    "by last change, sorted": ({"state": "active", "order_by": "last_datetime"}, IDS, ROWS),
    "by last change, of those with a password": (
        {"rule": "password", "order_by": "last_datetime"},
        ROWS,
        ROWS,
    ),
}


@pytest.mark.parametrize("order_type", ["ASC", "DESC"])
@pytest.mark.parametrize("name", PLANS)
def test_plans(
    name: str,
    order_type: str,
    alice: User,
    factory: Factory,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Reach, "is_sorted_faster", property(lambda reach: bool(reach.whole)))
    params, of_count, of_page = PLANS[name]
    factory.link(
        alice, "one", password_hash="$argon2id$", targeting_type="rotation", cloaking_is_enabled=True
    )
    factory.link(alice, "off", is_enabled=False, password_hash="$argon2id$", cloaking_is_enabled=True)
    session.commit()
    workspace_id = access_of(alice).workspace_id
    statements: dict[str, tuple[str, Any]] = {}

    def listen(_connection: Any, _cursor: Any, statement: str, values: Any, *_more: Any) -> None:
        statements[statement.partition("\n")[0].strip()] = statement, values

    connection = session.connection()
    sa.event.listen(connection, "before_cursor_execute", listen)
    find_page(LISTING, workspace_id, {**params, "order_type": order_type})
    sa.event.remove(connection, "before_cursor_execute", listen)
    assert plan_of(connection, statements.get("SELECT count(*) AS count_1")).startswith(of_count)
    assert ("SELECT count(*) AS count_1" in statements) is bool(of_count)
    of_page = of_page.format(reach=">" if order_type == "ASC" else "<")
    found = statements.get("SELECT link.id") or statements["SELECT link.id, link.workspace_id"]
    assert plan_of(connection, found).startswith(of_page)


def plan_of(connection: sa.Connection, asked: tuple[str, Any] | None) -> str:
    """How a statement begins to read, in SQLite's words."""
    if asked is None:
        return ""
    plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked[0]}", asked[1])
    return str(plan.first()[3])  # type: ignore[index]
