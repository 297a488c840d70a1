"""Saved views of the list of links."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.links import saved_views
from app.links.models import SavedView
from tests.dashboard.conftest import Desk

EMPTY = "This can&#39;t be empty."
QUERY = "not=tag&order_by=clicks&search=a+%26+b&tag=summer&tag=winter"


def stored(session: scoped_session[Session], user: User) -> list[SavedView]:
    session.rollback()
    return list(
        session.scalars(
            select(SavedView)
            .where(SavedView.workspace_id == access_of(user).workspace_id)
            .order_by(SavedView.id)
        )
    )


def save(desk: Desk, name: str, query: str = QUERY, **options: Any) -> Any:
    return desk.post("/links/views/new", {"name": name, "query": query}, **options)


def errors(page: str) -> list[str]:
    return re.findall(r'<p class="error">.*?<span>([^<]+)</span>', page)


def test_a_view_keeps_the_known_parameters(desk: Desk, alice: User, session: scoped_session[Session]) -> None:
    sent = (
        "tag=winter&tag=summer&not=tag&not=state&page=3&order_by=clicks&search=a+%26+b&evil=1&view=9&state="
    )
    answer = save(desk, "Not seasonal", sent)
    (view,) = stored(session, alice)
    assert (answer.status_code, view.name, view.query) == (303, "Not seasonal", QUERY)
    shown = urlsplit(answer.location)
    assert shown.path == "/dashboard/links/"
    assert parse_qs(shown.query) == parse_qs(QUERY) | {"view": [str(view.id)]}


def test_names_are_free_again_only_when_their_view_is_gone(
    desk: Desk, alice: User, bob: User, session: scoped_session[Session]
) -> None:
    session.add(SavedView(**access_of(bob).row_columns, name="Mine", key="mine", query=QUERY))
    session.commit()
    assert save(desk, "Mine").status_code == 303
    (view,) = stored(session, alice)
    refused = {"mine": "Another saved view has this name.", "": EMPTY, "  ": EMPTY}
    refused["x" * 65] = "This may have at most 64 characters; it has 65."
    for name, told in refused.items():
        answer = save(desk, name)
        assert (answer.status_code, errors(answer.text)) == (422, [told])
    assert save(desk, "Other").status_code == 303
    view_id = stored(session, alice)[1].id
    answer = desk.post(f"/links/views/{view_id}", {"name": "MINE", "shown_values": ""})
    assert (answer.status_code, errors(answer.text)) == (422, ["Another saved view has this name."])
    assert desk.post(f"/links/views/{view.id}/remove", {}).status_code == 303
    assert save(desk, "mine").status_code == 303
    assert [one.name for one in stored(session, alice)] == ["Other", "mine"]
    assert [one.name for one in stored(session, bob)] == ["Mine"]


def test_there_are_fifty_at_most(
    desk: Desk, alice: User, session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_views, "MAX_VIEWS", 2)
    assert [save(desk, name).status_code for name in "abc"] == [303, 303, 422]
    assert len(stored(session, alice)) == 2


def test_renaming_and_updating(desk: Desk, alice: User, session: scoped_session[Session]) -> None:
    save(desk, "Old")
    (view,) = stored(session, alice)
    at = f"/links/views/{view.id}"
    assert desk.post(at, {"name": "New"}).status_code == 303
    assert desk.post(f"{at}/update", {"query": "state=off&page=2"}).status_code == 303
    (view,) = stored(session, alice)
    assert (view.name, view.key, view.query) == ("New", "new", "state=off")
    assert desk.post(f"{at}/update", {"query": "page=2"}).status_code == 422
    assert desk.post(f"{at}/update", {}).status_code == 422


def test_the_bar_marks_the_view_and_says_that_it_was_changed(
    desk: Desk, alice: User, session: scoped_session[Session], factory: Any
) -> None:
    factory.link(alice, "one", tags=("summer",))
    assert 'class="views"' not in desk.get("/links/").text
    assert ">Save view<" in re.sub("<svg.*?</svg>", "", desk.get("/links/?tag=summer").text)
    save(desk, "Summer", "tag=summer&tag=spring")
    (view,) = stored(session, alice)
    marked = re.compile(r'<a href="[^"]*"( aria-current="true")?><bdi>Summer</bdi>( <span class="changed">)?')

    def state(query: str) -> list[bool]:
        found = marked.search(desk.get(f"/links/?{query}").text)
        assert found
        return [bool(group) for group in found.groups()]

    at = f"view={view.id}"
    assert state("") == [False, False]
    assert state("tag=summer&tag=spring") == [False, False]
    assert state(f"tag=spring&tag=summer&page=1&{at}") == [True, False]
    assert state(f"tag=summer&{at}") == [True, True]
    assert state(f"tag=summer&tag=spring&order_by=url&{at}") == [True, True]
    assert state(f"tag=summer&view={view.id + 1}") == [False, False]
    assert state(f"order_by=nope&{at}") == [True, True]
