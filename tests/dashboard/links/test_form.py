"""The link form: a control for each field, what may be typed instead of codes, and the warning of a forbidden frame."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session
from werkzeug.test import TestResponse
from wtforms.fields.core import UnboundField

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.dashboard.links import framing_check
from app.domains.models import Domain
from app.links.forms import PAIRS, LinkForm
from app.links.models import Link
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


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
def test_who_forbids_frames_is_named(desk: Desk, peers: Peers, session: scoped_session[Session]) -> None:
    peer = peers.serve(peers.says(FORBIDS))
    said = warning(create(desk, peer.url, **CLOAKED))
    assert said
    assert f"127.0.0.1:{peer.port} forbids being shown in a frame" in said
    assert session.scalars(select(Link.location_url)).all() == [peer.url]


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
def test_who_does_not_is_left_alone(desk: Desk, peers: Peers) -> None:
    assert warning(create(desk, peers.serve(peers.says(ALLOWS)).url, **CLOAKED)) is None


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
def test_a_link_that_is_not_cloaked_asks_nobody(desk: Desk, peers: Peers) -> None:
    assert warning(create(desk, peers.serve(peers.says(FORBIDS)).url)) is None
    assert peers.heard == []


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
def test_where_the_destination_sends_people_is_asked_too(desk: Desk, peers: Peers) -> None:
    end = peers.serve(peers.says(FORBIDS))
    head = f"HTTP/1.1 301 Moved\r\nLocation: {end.url}x\r\nContent-Length: 0\r\n\r\n"
    said = warning(create(desk, peers.serve(peers.says(head.encode())).url, **CLOAKED))
    assert said is not None


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
def test_who_does_not_answer_holds_nobody_for_long(
    desk: Desk, peers: Peers, monkeypatch: pytest.MonkeyPatch, session: scoped_session[Session]
) -> None:
    monkeypatch.setattr(framing_check, "SECONDS", 0.2)
    assert warning(create(desk, peers.serve(peers.hangs).url, **CLOAKED)) is None
    assert len(session.scalars(select(Link.id)).all()) == 1


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="")
def test_networks_that_are_not_public_are_not_asked(desk: Desk, peers: Peers) -> None:
    assert warning(create(desk, peers.serve(peers.says(FORBIDS)).url, **CLOAKED)) is None
    assert peers.heard == []


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
def test_others_may_write_meanwhile(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link is stored, and no transaction is open, before the destination is requested."""
    seen = []

    def note(url: str, *_: object) -> bool:
        seen.append((db.session().in_transaction(), url))
        return False

    monkeypatch.setattr(framing_check, "is_forbidden", note)
    assert warning(create(desk, "https://example.com/", **CLOAKED)) is None
    assert seen == [(False, "https://example.com/")]


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
@pytest.mark.usefixtures("no_dns")
def test_whatever_is_odd_is_saved_without_an_error(desk: Desk, peers: Peers) -> None:
    """Odd header values: the link is saved, with a warning if they forbid frames."""
    for name, answer in ANSWERS.items():
        said = warning(create(desk, peers.serve(peers.says(answer)).url, **CLOAKED))
        assert said is None or "policy" in name, name
