"""The link form: its controls, what may be typed instead of codes, and what is said before and after a link is saved."""

from __future__ import annotations

import datetime as dt
import html
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session
from werkzeug.test import TestResponse
from wtforms.fields.core import UnboundField

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.config import Settings
from app.core.extensions import db
from app.dashboard.links import framing_check
from app.domains.models import Domain
from app.links.forms import PAIRS, LinkForm
from app.links.models import LimitCounter, Link
from app.pixels.firing import firing
from app.pixels.provider import all_providers
from app.redirects.compiled_link import compile_link
from app.redirects.hosts import Site
from app.redirects.page_scripts import Scripts, boxed_types, parted
from tests.clients import Api
from tests.dashboard.conftest import HTMX, Desk
from tests.factories import Factory
from tests.net.odd_answers import ANSWERS, no_dns
from tests.notifications.peers import Peers

__all__ = ["no_dns"]

FIELDS = [name for name, field in vars(LinkForm).items() if isinstance(field, UnboundField)]
# it has one value, which need not be sent
NOT_ASKED = {"type"}
MANY = {"is_bulk", "location_urls"}


@pytest.fixture
def pages(desk: Desk, factory: Factory, alice: User) -> dict[str, str]:
    """The forms for one new link and for many, of an owner who has something of each kind to choose."""
    factory.add(Domain(**access_of(alice).row_columns, host="go.example", is_verified=True, token="x"))
    factory.project(alice), factory.pixel(alice), factory.handler(alice)
    factory.session.commit()
    return {"one": desk.get("/links/new").text, "many": desk.get("/links/bulk").text}


def controls(page: str, name: str) -> list[str]:
    return re.findall(rf'<(?:input|select|textarea)\b[^>]*?\bname="{name}"[^>]*>', page)


def is_named(page: str, control: str) -> bool:
    """Whether the control has a label that points to it or encloses it, or an `aria-label`."""
    id_ = re.search(r'\bid="([^"]+)"', control)
    inside = re.search(rf"<label[^>]*>\s*{re.escape(control)}", page)
    return "aria-label=" in control or bool(inside) or bool(id_ and f'<label for="{id_[1]}"' in page)


def test_each_page_makes_what_it_says(desk: Desk, session: Any) -> None:
    """The page decides between one link and many, not a field of the request."""
    one = desk.post("/links/new", {"is_bulk": "1", "location_url": "https://example.com/one"})
    many = desk.post("/links/bulk", {"is_bulk": "0", "location_urls": "https://example.com/two"})
    assert (one.status_code, many.status_code) == (303, 303)
    assert set(session.scalars(select(Link.location_url))) == {
        "https://example.com/one",
        "https://example.com/two",
    }


def test_every_field_has_a_control_with_a_name(pages: dict[str, str]) -> None:
    names = [name for name in FIELDS if name not in {*NOT_ASKED, *PAIRS}]
    assert len(names) > 25
    missing, nameless = [], []
    for name in names:
        page = pages["many" if name in MANY else "one"]
        found = [control for control in controls(page, name) if 'type="hidden"' not in control]
        missing += [] if found or name in MANY else [name]
        nameless += [control for control in found if not is_named(page, control)]
    assert (missing, nameless) == ([], [])


def test_many_links_have_a_page_of_their_own(pages: dict[str, str]) -> None:
    assert controls(pages["many"], "location_urls")
    assert controls(pages["many"], "is_bulk")


def test_every_type_of_targeting_has_lines_of_its_own(pages: dict[str, str]) -> None:
    for name in PAIRS:
        for part in ("key", "value"):
            found = controls(pages["one"], rf"{name}_{part}\[\]")
            assert found, name
            assert all(is_named(pages["one"], control) for control in found)


TO = {"location_url": "https://example.com/"}


def targeted(type_: str, key: str, value: str = "https://example.com/there") -> dict[str, Any]:
    return {
        **TO,
        "targeting_type": type_,
        f"targeting_{type_}_key[]": key,
        f"targeting_{type_}_value[]": value,
    }


BARE = {
    "destination": {"location_url": "example.com/a"},
    "expiration URL": {**TO, "expiration_url": "example.com/a"},
    "by country": targeted("country_code", "DE", "example.com/a"),
    "by share": targeted("rotation", "50", "example.com/a"),
    "by device": targeted("device_type", "mobile", "example.com/a"),
}


@pytest.mark.parametrize("name", BARE)
def test_a_destination_may_lack_its_scheme_in_the_dashboard_alone(
    name: str, desk: Desk, alice: User, factory: Factory, session: scoped_session[Session]
) -> None:
    api = Api(desk.client.application.test_client(), factory.key(alice)[1])
    assert api.post("/links", data=BARE[name]).status_code == 422
    assert desk.post("/links/new", BARE[name]).status_code == 303
    link = session.scalars(select(Link)).one()
    found = [link.location_url, link.expiration_url, *(to for _, to in link.targeting or ())]
    assert "https://example.com/a" in found


NAMES = {
    "country": ("country_code", "Holland", "NL"),
    "country in another language": ("country_code", "deutschland", "DE"),
    "continent": ("continent_code", "Europe", "EU"),
    "language": ("browser_language", "Deutsch (Österreich)", "de-AT"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_a_code_in_the_dashboard_alone(
    name: str, desk: Desk, alice: User, factory: Factory, session: scoped_session[Session]
) -> None:
    type_, typed, code = NAMES[name]
    api = Api(desk.client.application.test_client(), factory.key(alice)[1])
    assert api.post("/links", data=targeted(type_, typed)).status_code == 422
    assert desk.post("/links/new", targeted(type_, typed)).status_code == 303
    assert session.scalars(select(Link)).one().targeting == [[code, "https://example.com/there"]]


def test_a_citys_country_may_be_named(desk: Desk, session: scoped_session[Session]) -> None:
    assert desk.post("/links/new", targeted("city_name", "Portland, USA")).status_code == 303
    assert session.scalars(select(Link)).one().targeting == [["Portland, US", "https://example.com/there"]]


def test_a_name_that_is_none_is_refused_and_shown_as_typed(desk: Desk) -> None:
    answer = desk.post("/links/new", targeted("country_code", "Atlantis"))
    assert answer.status_code == 422
    assert "There is no such country." in answer.text
    assert 'value="Atlantis"' in answer.text


LOOPBACK = pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
FORBIDS = b"HTTP/1.1 200 OK\r\nX-Frame-Options: DENY\r\nContent-Length: 2\r\n\r\nOK"
ALLOWS = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"
CLOAKED = {"cloaking_is_enabled": "1"}


def warning(answer: TestResponse) -> str | None:
    """The warning that is shown after the link was saved."""
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = json.loads(answer.headers["HX-Trigger"])
    return told.get("toast-warning")


def create(desk: Desk, location_url: str, **fields: str) -> TestResponse:
    return desk.post("/links/new", {"location_url": location_url, **fields}, headers=HTMX)


@LOOPBACK
def test_who_forbids_frames_is_named(desk: Desk, peers: Peers, session: scoped_session[Session]) -> None:
    peer = peers.serve(peers.says(FORBIDS))
    said = warning(create(desk, peer.url, **CLOAKED))
    assert said
    assert f"127.0.0.1:{peer.port} forbids being shown in a frame" in said
    assert session.scalars(select(Link.location_url)).all() == [peer.url]


@LOOPBACK
def test_who_does_not_is_left_alone(desk: Desk, peers: Peers) -> None:
    assert warning(create(desk, peers.serve(peers.says(ALLOWS)).url, **CLOAKED)) is None


@LOOPBACK
def test_a_link_that_is_not_cloaked_asks_nobody(desk: Desk, peers: Peers) -> None:
    assert warning(create(desk, peers.serve(peers.says(FORBIDS)).url)) is None
    assert peers.heard == []


@LOOPBACK
def test_where_the_destination_sends_people_is_asked_too(desk: Desk, peers: Peers) -> None:
    end = peers.serve(peers.says(FORBIDS))
    head = f"HTTP/1.1 301 Moved\r\nLocation: {end.url}x\r\nContent-Length: 0\r\n\r\n"
    said = warning(create(desk, peers.serve(peers.says(head.encode())).url, **CLOAKED))
    assert said is not None


@LOOPBACK
def test_who_does_not_answer_holds_nobody_for_long(
    desk: Desk, peers: Peers, monkeypatch: pytest.MonkeyPatch, session: scoped_session[Session]
) -> None:
    monkeypatch.setattr(framing_check, "SECONDS", 0.2)
    assert warning(create(desk, peers.serve(peers.hangs).url, **CLOAKED)) is None
    assert len(session.scalars(select(Link.id)).all()) == 1


def test_networks_that_are_not_public_are_not_asked(desk: Desk, peers: Peers) -> None:
    assert warning(create(desk, peers.serve(peers.says(FORBIDS)).url, **CLOAKED)) is None
    assert peers.heard == []


@LOOPBACK
def test_others_may_write_meanwhile(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link is stored, and no transaction is open, before the destination is requested."""
    seen = []

    def note(url: str, *_: object) -> bool:
        seen.append((db.session().in_transaction(), url))
        return False

    monkeypatch.setattr(framing_check, "is_forbidden", note)
    assert warning(create(desk, "https://example.com/", **CLOAKED)) is None
    assert seen == [(False, "https://example.com/")]


@LOOPBACK
@pytest.mark.usefixtures("no_dns")
def test_whatever_is_odd_is_saved_without_an_error(desk: Desk, peers: Peers) -> None:
    """Odd header values: the link is saved, with a warning if they forbid frames."""
    for name, answer in ANSWERS.items():
        said = warning(create(desk, peers.serve(peers.says(answer)).url, **CLOAKED))
        assert said is None or "policy" in name, name


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


WHERE: dict[str, tuple[dict[str, str], str, bool]] = {
    "one host for all": ({}, "localhost", True),
    "the dashboard elsewhere": ({"dashboard_url": "https://desk.example"}, "go.example", False),
    "the dashboard at another port": ({"dashboard_url": "https://go.example:8443"}, "go.example", True),
}


@pytest.mark.parametrize(("changed", "host", "all_are_boxed"), WHERE.values(), ids=WHERE)
def test_what_is_said_is_what_happens(
    changed: dict[str, str], host: str, all_are_boxed: bool, app: Flask
) -> None:
    settings: Settings = replace(app.config["WAYPOST"], **changed)
    link = {"id": 1, "workspace_id": 1, "domain_id": 0, "url": "a", "location_url": "https://example.com/"}
    columns = {**link, "http_status_code": 302, "password_version": 0}
    plan, own = compile_link(columns, settings.destination_schemes), Site(domain_id=1, workspace_id=1)
    for type_, provider in all_providers().items():
        scripts = Scripts(firing([(type_, "1")]))
        _, boxed = parted(scripts, plan, Site(), host, settings)
        assert bool(boxed) is (type_ in boxed_types(host, settings)), type_
        assert bool(boxed) is (all_are_boxed or provider.is_owners_script), type_
        assert parted(scripts, plan, own, "go.example", settings) == (scripts, Scripts()), type_
