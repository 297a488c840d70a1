"""Framing check: saving a cloaked link warns the owner when the destination forbids frames."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session
from werkzeug.test import TestResponse

from app.core.extensions import db
from app.dashboard.links import framing_check
from app.links.models import Link
from tests.dashboard.conftest import HTMX, Desk
from tests.net.odd_answers import ANSWERS, no_dns
from tests.notifications.peers import Peers

__all__ = ["no_dns"]

pytestmark = pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")

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


def test_who_forbids_frames_is_named(desk: Desk, peers: Peers, session: scoped_session[Session]) -> None:
    peer = peers.serve(peers.says(FORBIDS))
    said = warning(create(desk, peer.url, **CLOAKED))
    assert said
    assert f"127.0.0.1:{peer.port} forbids being shown in a frame" in said
    assert session.scalars(select(Link.location_url)).all() == [peer.url]


def test_who_does_not_is_left_alone(desk: Desk, peers: Peers) -> None:
    assert warning(create(desk, peers.serve(peers.says(ALLOWS)).url, **CLOAKED)) is None


def test_a_link_that_is_not_cloaked_asks_nobody(desk: Desk, peers: Peers) -> None:
    assert warning(create(desk, peers.serve(peers.says(FORBIDS)).url)) is None
    assert peers.heard == []


def test_where_the_destination_sends_people_is_asked_too(desk: Desk, peers: Peers) -> None:
    end = peers.serve(peers.says(FORBIDS))
    head = f"HTTP/1.1 301 Moved\r\nLocation: {end.url}x\r\nContent-Length: 0\r\n\r\n"
    said = warning(create(desk, peers.serve(peers.says(head.encode())).url, **CLOAKED))
    assert said is not None


def test_who_does_not_answer_holds_nobody_for_long(
    desk: Desk, peers: Peers, monkeypatch: pytest.MonkeyPatch, session: scoped_session[Session]
) -> None:
    monkeypatch.setattr(framing_check, "SECONDS", 0.2)
    assert warning(create(desk, peers.serve(peers.hangs).url, **CLOAKED)) is None
    assert len(session.scalars(select(Link.id)).all()) == 1


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="")
def test_networks_that_are_not_public_are_not_asked(desk: Desk, peers: Peers) -> None:
    assert warning(create(desk, peers.serve(peers.says(FORBIDS)).url, **CLOAKED)) is None
    assert peers.heard == []


def test_others_may_write_meanwhile(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link is stored, and no transaction is open, before the destination is requested."""
    seen = []

    def note(url: str, *_: object) -> bool:
        seen.append((db.session().in_transaction(), url))
        return False

    monkeypatch.setattr(framing_check, "is_forbidden", note)
    assert warning(create(desk, "https://example.com/", **CLOAKED)) is None
    assert seen == [(False, "https://example.com/")]


@pytest.mark.usefixtures("no_dns")
def test_whatever_is_odd_is_saved_without_an_error(desk: Desk, peers: Peers) -> None:
    """Odd header values: the link is saved, with a warning if they forbid frames."""
    for name, answer in ANSWERS.items():
        said = warning(create(desk, peers.serve(peers.says(answer)).url, **CLOAKED))
        assert said is None or "policy" in name, name
