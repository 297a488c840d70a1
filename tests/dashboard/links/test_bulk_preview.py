"""Previews of bulk changes, and undo of a change as one: what is shown, stored, refused, and whose it is."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.dashboard.links import bulk as links_bulk
from app.dashboard.links import bulk_preview
from app.links.models import Link, LinkChange
from tests.dashboard.conftest import HTMX, Desk
from tests.dashboard.links.test_bulk import fields

pytestmark = pytest.mark.databases
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
    desk: Desk, alice: User, make_link: Any, session: scoped_session[Session], database: str
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
    desk: Desk, alice: User, make_link: Any, session: scoped_session[Session], database: str
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
    database: str,
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
    desk: Desk, alice: User, make_link: Any, session: scoped_session[Session], database: str
) -> None:
    one, two = (make_link(alice, name, location_url="https://old.example/") for name in ("one", "two"))
    page = desk.post("/links/many/go", {**asked(one, two), **FIND}, headers=HTMX).text
    desk.post(f"/links/{two.id}/destination", {"location_url": "https://old.example/later"})
    answer = desk.post("/links/many/go", {**fields(page), "apply": "1"})
    assert "1 done, 1 failed" in answer.text
    assert "It was changed elsewhere since the preview." in answer.text
    assert stored(session, "one").location_url == "https://new.example/"
    assert stored(session, "two").location_url == "https://old.example/later"


def test_nothing_of_others_is_shown_changed_or_undone(
    desk: Desk, alice: User, bob: User, make_link: Any, session: scoped_session[Session], database: str
) -> None:
    mine, foreign = (
        make_link(user, name, location_url="https://old.example/")
        for user, name in ((alice, "mine"), (bob, "his"))
    )
    page = desk.post("/links/many/go", {**asked(mine, foreign), **FIND}, headers=HTMX).text
    assert "Preview: 1 link changes" in page
    assert "/his" not in page
    desk.post("/links/many/go", {**fields(page), "apply": "1"})
    assert stored(session, "his").location_url == "https://old.example/"
    batch = "ab" * 16
    session.add(
        LinkChange(link_id=foreign.id, **access_of(bob).row_columns, kind="changed", batch=batch, fields={})
    )
    session.commit()
    for other in (batch, "cd" * 16, "x", "ab" * 17):
        assert desk.post(f"/links/many/undo/{other}", {}).status_code == 404


def test_targeting_is_previewed_first_and_lines_keep_their_pairs(
    desk: Desk, alice: User, make_link: Any, session: scoped_session[Session], database: str
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
