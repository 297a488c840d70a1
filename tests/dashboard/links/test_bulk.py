"""Bulk changes of links: only selected or matching links change, in as many requests as it takes; their previews and their undo."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.dashboard.links import bulk as links_bulk
from app.dashboard.links import bulk_preview
from app.links.models import Link, LinkChange
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


FIND = {"find": "old.example", "replace": "new.example", "in_location_url": "1"}


def asked(*links: Link, do: str = "replace") -> dict[str, Any]:
    return {"do": do, "ids": ",".join(str(link.id) for link in links), "total": str(len(links))}


def stored(session: scoped_session[Session], name: str) -> Link:
    session.rollback()
    return session.scalars(select(Link).where(Link.url == name)).one()


def undo_path(answer: Any) -> str:
    undo = json.loads(answer.headers["HX-Trigger"])["toast-undo"]["undo"]
    assert isinstance(undo, str)
    return undo.removeprefix("/dashboard")


def test_a_preview_stores_nothing_and_marks_what_changes(
    desk: Desk, alice: User, make_link: Any, session: scoped_session[Session]
) -> None:
    one = make_link(alice, "one", location_url="https://old.example/a?b=<script>")
    same = make_link(alice, "same", location_url="https://elsewhere.example/")
    answer = desk.post("/links/many/go", {**asked(one, same), **FIND})
    assert answer.status_code == 200
    assert "Preview: 1 link changes" in answer.text
    assert "https://<del>old.example</del>/a?b=&lt;script&gt;" in answer.text
    assert "https://<ins>new.example</ins>/a?b=&lt;script&gt;" in answer.text
    assert "1 stays as it is" in answer.text
    assert "/same" not in answer.text
    assert stored(session, "one").location_url == "https://old.example/a?b=<script>"


def test_it_is_applied_and_undone_as_one(
    desk: Desk, alice: User, make_link: Any, session: scoped_session[Session]
) -> None:
    links = [make_link(alice, f"n{n}", location_url=f"https://old.example/{n}") for n in range(3)]
    page = desk.post("/links/many/go", {**asked(*links), **FIND}, headers=HTMX).text
    answer = desk.post("/links/many/go", {**fields(page), "apply": "1"}, headers=HTMX)
    assert "3 links are changed." in answer.headers["HX-Trigger"]
    assert stored(session, "n2").location_url == "https://new.example/2"
    changes = session.scalars(select(LinkChange)).all()
    assert {one.way for one in changes} == {"many"}
    assert len({one.batch for one in changes}) == 1
    history = desk.get(f"/links/{links[0].id}/history").text
    assert "Undo for all 3 links" in history
    undone = desk.post(undo_path(answer), {}, headers=HTMX)
    assert "3 links are as they were." in undone.headers["HX-Trigger"]
    assert stored(session, "n2").location_url == "https://old.example/2"


def test_long_work_is_done_in_steps(
    desk: Desk,
    alice: User,
    make_link: Any,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(links_bulk, "SECONDS", 0)
    monkeypatch.setattr(bulk_preview, "SECONDS", 0)
    monkeypatch.setattr(bulk_preview, "PREVIEW_BATCH_SIZE", 2)
    monkeypatch.setattr(links_bulk.bulk_edit, "BATCH_SIZE", 2)
    for n in range(5):
        make_link(alice, f"n{n}", location_url="https://old.example/")
    page = desk.post("/links/many", {"do": "replace", "all": "1", "query": ""}, headers=HTMX).text
    later = make_link(alice, "later", location_url="https://old.example/")
    page = desk.post("/links/many/go", {**fields(page), **FIND}, headers=HTMX).text
    seen = 0
    while "Preview: 5 links change" not in page:
        found = re.search(r"Preview: (\d) of 5", page)
        assert found
        assert int(found[1]) > seen
        seen = int(found[1])
        page = desk.post("/links/many/go", fields(page), headers=HTMX).text
    assert seen == 4
    answer = desk.post("/links/many/go", {**fields(page), "apply": "1"}, headers=HTMX)
    assert "2 of 5" in answer.text
    while "HX-Trigger" not in answer.headers:
        answer = desk.post("/links/many/go", fields(answer.text), headers=HTMX)
    assert stored(session, "n4").location_url == "https://new.example/"
    assert stored(session, later.url).location_url == "https://old.example/"
    answer = desk.post(undo_path(answer), {}, headers=HTMX)
    assert "2 of 5" in answer.text
    while "HX-Trigger" not in answer.headers:
        answer = desk.post("/links/many/go", fields(answer.text), headers=HTMX)
    assert stored(session, "n4").location_url == "https://old.example/"
    batches = set(session.scalars(select(LinkChange.batch)))
    assert len(batches) == 2  # of the change, and of its undo: each can be taken back as one


def test_what_was_changed_since_the_preview_stays(
    desk: Desk, alice: User, make_link: Any, session: scoped_session[Session]
) -> None:
    one, two = (make_link(alice, name, location_url="https://old.example/") for name in ("one", "two"))
    page = desk.post("/links/many/go", {**asked(one, two), **FIND}, headers=HTMX).text
    desk.post(f"/links/{two.id}/destination", {"location_url": "https://old.example/later"})
    answer = desk.post("/links/many/go", {**fields(page), "apply": "1"})
    assert "1 done, 1 failed" in answer.text
    assert "It was changed elsewhere since the preview." in answer.text
    assert stored(session, "one").location_url == "https://new.example/"
    assert stored(session, "two").location_url == "https://old.example/later"


def test_targeting_is_previewed_first_and_lines_keep_their_pairs(
    desk: Desk, alice: User, make_link: Any, session: scoped_session[Session]
) -> None:
    other = {"targeting_type": "browser_language", "targeting": [["de", "https://de.example/"]]}
    one, two = make_link(alice, "one", **other), make_link(alice, "two")
    lines = {
        "targeting_action": "set",
        "targeting_type": "country_code",
        "targeting_country_code_key[0]": "Germany",
        "targeting_country_code_value[0]": "https://a.example/",
        "targeting_country_code_key[2]": "FR",
        "targeting_country_code_value[2]": "https://b.example/",
    }
    page = desk.post("/links/many/go", {**asked(one, two, do="change"), **lines}, headers=HTMX).text
    assert "Preview: 2 links change" in page
    assert "1 link loses the targeting that it has, by another type." in page
    assert stored(session, "two").targeting_type is None
    desk.post("/links/many/go", {**fields(page), "apply": "1"}, headers=HTMX)
    wanted = [["DE", "https://a.example/"], ["FR", "https://b.example/"]]
    assert stored(session, "one").targeting == stored(session, "two").targeting == wanted
    lines = {
        "targeting_action": "remove",
        "targeting_type": "country_code",
        "targeting_country_code_key[0]": "DE",
        "targeting_country_code_value[0]": "",
    }
    page = desk.post("/links/many/go", {**asked(one, do="change"), **lines}, headers=HTMX).text
    desk.post("/links/many/go", {**fields(page), "apply": "1"}, headers=HTMX)
    assert stored(session, "one").targeting == wanted[1:]
