"""What is said before a link is saved, and when nothing is: without JavaScript, by the answer."""

from __future__ import annotations

import datetime as dt
import html
import re
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.clock import now
from app.links.models import LimitCounter, Link
from tests.clients import Api
from tests.dashboard.conftest import Desk
from tests.factories import Factory

OLD = dt.timedelta(days=2)
PAST = dt.datetime(2021, 1, 1, tzinfo=dt.UTC)
BREAKS = "Printed QR codes, bookmarks and posts with"
ENDED = "This end is in the past."


def tokens(page: str) -> list[str]:
    found = re.findall(r'name="agreed" value="([^"]*)"', page)
    return [html.unescape(text) for text in found]


def clicked(factory: Factory, link: Link, clicks: int) -> Link:
    factory.session.add(LimitCounter(link_id=link.id, clicks=clicks))
    factory.session.commit()
    return link


def url_of(session: scoped_session[Session], link: Link) -> str:
    return session.scalars(select(Link.url).where(Link.id == link.id)).one()


RENAMES: dict[str, tuple[dict[str, Any], int, dict[str, str], bool]] = {
    "clicked": ({}, 3, {"url": "new"}, True),
    "old": ({"datetime": now() - OLD}, 0, {"url": "new"}, True),
    "random one instead": ({}, 3, {"url": ""}, True),
    "neither clicked nor old": ({}, 0, {"url": "new"}, False),
    "in other letters": ({}, 3, {"url": "OLD"}, False),
    "as it was": ({}, 3, {"url": "old", "title": "x"}, False),
    "something else": ({}, 3, {"title": "x"}, False),
    "not valid": ({}, 3, {"url": "a//b"}, False),
}


@pytest.mark.parametrize("name", RENAMES)
def test_a_rename_is_asked_about_where_it_breaks_something(
    name: str, desk: Desk, alice: User, factory: Factory, session: scoped_session[Session]
) -> None:
    columns, clicks, sent, is_asked = RENAMES[name]
    link = clicked(factory, factory.link(alice, "old", **columns), clicks)
    answer = desk.post(f"/links/{link.id}", sent)
    assert (BREAKS in answer.text) == is_asked
    if not is_asked:
        assert answer.status_code in {303, 422}
        return
    assert answer.status_code == 409
    assert url_of(session, link) == "old"
    [token] = tokens(answer.text)
    assert desk.post(f"/links/{link.id}", {**sent, "agreed": token}).status_code == 303
    assert url_of(session, link) != "old"


def test_a_tick_is_for_the_alias_that_was_shown(
    desk: Desk, alice: User, factory: Factory, session: scoped_session[Session]
) -> None:
    """A rename by somebody else meanwhile is another address that breaks."""
    link = clicked(factory, factory.link(alice, "old"), 1)
    assert desk.post(f"/links/{link.id}", {"url": "new", "agreed": "rename:0/older"}).status_code == 409
    assert desk.post(f"/links/{link.id}", {"url": "new", "agreed": ["x", "rename:0/old"]}).status_code == 303
    assert url_of(session, link) == "new"


def test_the_api_asks_nothing(
    desk: Desk, alice: User, factory: Factory, session: scoped_session[Session]
) -> None:
    link = clicked(factory, factory.link(alice, "old"), 5)
    api = Api(desk.client.application.test_client(), factory.key(alice)[1])
    data = {"url": "new", "schedule": "1", "end_date": "2021-01-01", "clicks_limit": "2"}
    assert api.post(f"/links/{link.id}", data=data).status_code == 200
    assert url_of(session, link) == "new"


SCHEDULES: dict[str, tuple[dict[str, Any], dict[str, str], list[str]]] = {
    "end in the past": ({}, {"schedule": "1", "end_date": "2021-01-01T00:00"}, [ENDED, "“expired” page at once"]),
    "end in the past, goes on": ({}, {"schedule": "1", "end_date": "2021-01-01T00:00", "expiration_url": "example.com"}, [ENDED, "sent to the expiration URL at once"]),
    "end in the past, without a schedule": ({}, {"schedule": "0", "end_date": "2021-01-01T00:00"}, []),
    "start in the past": ({}, {"schedule": "1", "start_date": "2021-01-01T00:00"}, []),
    "end to come": ({}, {"schedule": "1", "end_date": "2090-01-01T00:00"}, []),
    "ended before": ({"schedule": True, "end_date": PAST}, {"schedule": "1", "end_date": "2021-01-01T00:00", "title": "x"}, []),
    "ended before, otherwise now": ({"schedule": True, "end_date": PAST}, {"schedule": "1", "end_date": "2022-01-01T00:00"}, [ENDED]),
    "limit that is reached": ({}, {"clicks_limit": "5"}, ["5 clicks are counted already", "“expired” page at once"]),
    "limit to come": ({}, {"clicks_limit": "6"}, []),
    "limit as before": ({"clicks_limit": 5}, {"clicks_limit": "5", "title": "x"}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_link_that_is_over_at_once_is_said_once(
    name: str, desk: Desk, alice: User, factory: Factory, session: scoped_session[Session]
) -> None:
    columns, sent, words = SCHEDULES[name]
    link = clicked(factory, factory.link(alice, "old", **columns), 5)
    answer = desk.post(f"/links/{link.id}", sent)
    assert [word for word in words if word not in answer.text] == []
    assert answer.status_code == (409 if words else 303)
    if words:
        assert 'aria-invalid="true"' not in answer.text  # a warning is no error
        assert desk.post(f"/links/{link.id}", {**sent, "agreed": tokens(answer.text)}).status_code == 303


@pytest.mark.parametrize("path", ["/links/new", "/links/bulk"])
def test_a_new_link_that_is_over_at_once(path: str, desk: Desk, session: scoped_session[Session]) -> None:
    sent = {"schedule": "1", "end_date": "2021-01-01T00:00"}
    sent |= {"location_url": "example.com", "location_urls": "example.com"}
    answer = desk.post(path, sent)
    assert (answer.status_code, ENDED in answer.text) == (409, True)
    assert session.scalars(select(Link)).all() == []
    assert desk.post(path, {**sent, "agreed": tokens(answer.text)}).status_code == 303


# --------------------------------------------------------------------- alias


def proposed(page: str) -> str:
    found = re.search(r'name="proposed_alias" value="([a-z0-9]+)"', page)
    assert found
    return found[1]


def test_the_alias_that_is_shown_is_given(desk: Desk, session: scoped_session[Session]) -> None:
    alias = proposed(desk.get("/links/new").text)
    sent = {"location_url": "https://example.com/", "url": "", "proposed_alias": alias}
    assert alias in desk.post("/links/new", {**sent, "location_url": "x y"}).text  # stays after an error
    assert desk.post("/links/new", sent).status_code == 303
    assert session.scalars(select(Link.url)).all() == [alias]


@pytest.mark.parametrize(
    ("sent", "given"),
    {
        "a word of one's own": ({"proposed_alias": "mine-at-last"}, r"[a-z2-9]{7}"),
        "reserved": ({"proposed_alias": "dashboard"}, r"[a-z2-9]{7}"),
        "a file's worth": ({"proposed_alias": "a" * 9000}, r"[a-z2-9]{7}"),
        "typed": ({"proposed_alias": "aaaaaaa", "url": "typed"}, "typed"),
    }.values(),
)
def test_only_what_may_be_random_is_a_proposal(
    sent: dict[str, str], given: str, desk: Desk, session: scoped_session[Session]
) -> None:
    assert desk.post("/links/new", {"location_url": "https://example.com/", **sent}).status_code == 303
    [alias] = session.scalars(select(Link.url)).all()
    assert re.fullmatch(given, alias)
    assert alias != sent["proposed_alias"]


def test_a_proposal_that_is_taken_is_drawn_again(
    desk: Desk, bob: User, alice: User, factory: Factory, session: scoped_session[Session]
) -> None:
    factory.link(bob, "abcdefg")
    sent = {"location_url": "https://example.com/", "proposed_alias": "abcdefg"}
    assert "abcdefg" not in desk.post("/links/preview", sent).text
    assert desk.post("/links/new", sent).status_code == 303
    assert (
        session.scalars(select(Link.url).where(Link.workspace_id == access_of(alice).workspace_id)).one()
        != "abcdefg"
    )
