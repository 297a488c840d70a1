"""Idempotency keys: a repeated request creates once, whatever happens in between."""

from __future__ import annotations

import datetime as dt
from contextvars import Context
from typing import Any

import pytest
import time_machine
from flask import Flask
from sqlalchemy.orm import Session, scoped_session

from app.api import idempotency
from app.api.models import IdempotencyKey
from tests.api.shape import problem, race
from tests.clients import Api

TO = {"location_url": "https://example.com/"}
KEY = {"Idempotency-Key": "once"}


def total(api: Api, path: str = "/links") -> int:
    return int(api.get(path).json["meta"]["total"])


def test_updates_and_reads_do_not_look_at_it(api: Api) -> None:
    number = api.post("/links", TO, headers=KEY).json["data"]["id"]
    for title in ("a", "b"):
        assert api.post(f"/links/{number}", {"title": title}, headers=KEY).status_code == 200
    assert api.get(f"/links/{number}", headers=KEY).json["data"]["title"] == "b"


def test_after_a_day_the_key_is_free(api: Api, session: scoped_session[Session]) -> None:
    now = dt.datetime.now(dt.UTC)
    first = api.post("/links", TO, headers=KEY)
    for hours, is_replay in [(23.9, True), (24.1, False)]:
        with time_machine.travel(now + dt.timedelta(hours=hours), tick=False):
            again = api.post("/links", TO, headers=KEY)
            assert (again.data == first.data) is is_replay
            assert ("Idempotency-Replayed" in again.headers) is is_replay
    assert session.query(IdempotencyKey).count() == 1


def leave_reservation(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves a reservation, as a process does that is killed between reservation and commit."""

    def killed(self: idempotency.Reservation) -> None:
        pass

    with monkeypatch.context() as patched:
        patched.setattr(idempotency.Reservation, "release", killed)
        patched.setattr("app.links.services.create", killed_in_the_middle)
        problem(api.post("/links", TO, headers=KEY), 500)


def killed_in_the_middle(user: Any, changes: Any) -> Any:
    raise RuntimeError("killed")


@pytest.mark.databases
def test_a_dead_process_holds_the_key_only_for_a_while(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_reservation(api, monkeypatch)
    running = api.post("/links", TO, headers=KEY)
    assert problem(running, 409)[0]["code"] == "idempotency_key_in_use"
    later = dt.datetime.now(dt.UTC) + idempotency.LEASE + dt.timedelta(seconds=2)
    with time_machine.travel(later):
        assert api.post("/links", TO, headers=KEY).status_code == 201
    assert total(api) == 1


@pytest.mark.databases
def test_who_lost_the_reservation_creates_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request is so slow that its lease expires, and another one takes over and creates."""
    from app.api import resource

    really, seen = resource.begin_write, []
    later = dt.datetime.now(dt.UTC) + idempotency.LEASE + dt.timedelta(seconds=2)

    def too_slow(session: Any) -> None:
        if not seen:
            seen.append(None)
            with time_machine.travel(later):
                seen.append(Context().run(api.post, "/links", TO, headers=KEY))
        really(session)

    monkeypatch.setattr(resource, "begin_write", too_slow)
    slow = api.post("/links", TO, headers=KEY)
    assert seen[1].status_code == 201
    problem(slow, 409)
    assert total(api) == 1
    assert api.post("/links", TO, headers=KEY).data == seen[1].data


@pytest.mark.databases
def test_many_at_once_make_one(app: Flask, api: Api) -> None:
    answers = race(app, api, 6, TO, KEY)
    made = [answer for answer in answers if answer.status_code == 201]
    assert len({answer.data for answer in made}) == 1
    for answer in answers:
        if answer not in made:
            problem(answer, 409)
    assert total(api) == 1
