"""Bulk changes of links: only selected or matching links change, in as many requests as it takes."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.dashboard.links import bulk as links_bulk
from app.links.models import Link
from tests.dashboard.conftest import HTMX, Desk


def off(session: scoped_session[Session]) -> set[str]:
    session.rollback()
    return set(session.scalars(select(Link.url).where(~Link.is_enabled)))


def fields(page: str) -> dict[str, list[str]]:
    """The hidden inputs of the page that sends the next request."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page):
        found.setdefault(name, []).append(html.unescape(value))
    return found


def test_selected_and_matching(
    desk: Desk, alice: User, bob: User, factory: Any, session: scoped_session[Session]
) -> None:
    links = [factory.link(alice, f"n{number}", tags=("x",) if number % 2 else ()) for number in range(6)]
    factory.link(bob, "bobs", tags=("x",))
    answer = desk.post("/links/many", {"do": "off", "ids": [links[0].id, links[2].id]}, headers=HTMX)
    assert "2 links are turned off." in answer.headers["HX-Trigger"]
    assert off(session) == {"n0", "n2"}
    desk.post("/links/many", {"do": "off", "all": "1", "query": "tag=x"})
    assert off(session) == {"n0", "n1", "n2", "n3", "n5"}
    desk.post("/links/many", {"do": "on", "all": "1", "query": "state=off"})
    assert off(session) == set()


def test_long_work_goes_on_from_page_to_page(
    desk: Desk,
    alice: User,
    make_link: Any,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Links made after the start stay as they are. None is missed because changed links no longer match."""
    monkeypatch.setattr(links_bulk, "SECONDS", 0)
    monkeypatch.setattr(links_bulk.bulk_edit, "BATCH_SIZE", 2)
    for number in range(5):
        make_link(alice, f"n{number}", tags=tuple(f"t{n}" for n in range(20)) if number == 3 else ())
    asked = {"do": "change", "all": "1", "query": "state=active"}
    page = desk.post("/links/many", asked, headers=HTMX).text
    assert "Change 5 links" in page
    make_link(alice, "later")
    state = {**fields(page), "is_enabled": "0", "project_id": "keep", "add_tags": "new", "schedule": "keep"}
    page = desk.post("/links/many/go", state, headers=HTMX).text
    assert "2 of 5" in page
    page = desk.post("/links/many/go", fields(page), headers=HTMX).text
    assert "4 of 5" in page
    assert "1 failed so far" in page
    page = desk.post("/links/many/go", fields(page), headers=HTMX).text
    assert "4 done, 1 failed" in page
    assert "<b><bdi>localhost/n3</bdi></b> It would have 21 tags; the limit is 20." in page
    assert 'hx-swap-oob="innerHTML"' in page
    assert off(session) == {"n0", "n1", "n2", "n4"}


def test_it_can_be_stopped(
    desk: Desk, alice: User, make_link: Any, session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(links_bulk, "SECONDS", 0)
    monkeypatch.setattr(links_bulk.bulk_edit, "BATCH_SIZE", 1)
    ids = [make_link(alice, f"n{number}").id for number in range(3)]
    page = desk.post("/links/many", {"do": "off", "ids": ids}).text
    page = desk.post("/links/many/go", {**fields(page), "stop": "1"}).text
    assert "1 of 3 links turned off." in page
    assert off(session) == {"n0"}
