"""Outbox: an error in an event, a mail or a delivery holds up no other."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from app.accounts.models import PasswordRequest, User
from app.core.clock import now
from app.core.config import Settings
from app.core.leases import precise_now
from app.jobs import mails
from app.jobs.worker import WorkerThreads
from app.links import schedule_events
from app.notifications import outbox, sender, system_email, waiting
from app.notifications.delivery import AttemptResult
from app.notifications.models import Delivery, DeliveryAttempt, Event, NotificationHandler, SystemEmail
from app.notifications.sender import Sender
from app.notifications.system_email import Content
from tests.loops.conftest import ERRORS, raiser
from tests.server import wait_for

FEEDS = ("starts and ends of links", "events", "forgotten passwords", "confirmations")
WITH_MAIL = pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:1", BASE_URL="https://go.example")


def test_feeds(beside: WorkerThreads, monkeypatch: pytest.MonkeyPatch) -> None:
    """A feed that raises holds up neither other feeds nor sending. Their items are tested below."""
    thread = beside.sender
    assert tuple(thread.feeds) == FEEDS
    done: list[str] = []
    monkeypatch.setattr(thread, "take", lambda *_: done.append("take"))
    for bad in FEEDS:
        for make_error in ERRORS.values():
            done.clear()
            thread.steps.forget()
            thread.feeds = {
                name: raiser(make_error) if name == bad else lambda _session, name=name: done.append(name)
                for name in FEEDS
            }
            thread.turn()
            assert sorted(done) == sorted({*FEEDS, "take"} - {bad})


def ask(beside: WorkerThreads, feed: str) -> Any:
    with Session(beside.engine) as own:
        return beside.sender.feeds[feed](own)


def test_an_event(session: Session, beside: WorkerThreads, throw: Any, two_links: Any) -> None:
    session.add_all(Event(type="link.started", link_id=link) for link in two_links)
    session.commit()
    first = session.scalars(select(NotificationHandler.id).order_by(NotificationHandler.id)).first()
    throw(schedule_events, "deliver", lambda _session, handler_id, *_: handler_id == first)
    assert ask(beside, "events")
    assert not ask(beside, "events"), "it is backed off"
    session.rollback()
    assert [row.handler_id == first for row in session.scalars(select(Delivery))] == [False]
    assert [row.link_id for row in session.scalars(select(Event))] == [two_links[0]]


@WITH_MAIL
def test_a_forgotten_password(
    session: Session, beside: WorkerThreads, throw: Any, alice: User, bob: User
) -> None:
    session.add_all(PasswordRequest(email=user.email) for user in (alice, bob))
    session.commit()
    throw(mails.SecurityMail, "new_password", lambda _self, user, _token: user.email == alice.email)
    ask(beside, "forgotten passwords")
    session.rollback()
    assert [row.email for row in session.scalars(select(SystemEmail))] == [bob.email]
    assert [row.email for row in session.scalars(select(PasswordRequest))] == [alice.email]


def delivered(*_: Any, **__: Any) -> AttemptResult:
    return AttemptResult(is_delivered=True, detail="Delivered.", datetime=now(), duration_ms=1)


@pytest.fixture
def two_deliveries(session: Session, two_links: Any) -> tuple[int, int]:
    data = {"handler": {"id": 1, "name": "n", "type": "email"}}
    for handler in session.scalars(select(NotificationHandler.id).order_by(NotificationHandler.id)).all():
        outbox.deliver(session, handler, "handler.test", data)
    session.commit()
    first, second = session.scalars(select(Delivery.id).order_by(Delivery.id)).all()
    return first, second


@pytest.mark.parametrize("where", ["made", "written down"])
def test_a_delivery(
    session: Session, engine: Engine, settings: Settings, throw: Any, two_deliveries: Any, where: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A delivery counts as a failed attempt if its message can't be made or its outcome can't be stored."""
    first, second = two_deliveries
    monkeypatch.setattr(sender, "attempt", delivered)
    if where == "made":
        throw(waiting, "claimed_delivery", lambda _session, row, _site: row.id == first)
    else:
        throw(sender, "write_down", lambda _session, _who, came: first in {id_ for id_, _, _ in came})
    thread = Sender(engine, settings)
    rows = turn_until_delivered(thread, session, second)
    wait_for(lambda: not thread.held or not thread.turn(), "the end of the other")
    session.rollback()
    assert (rows[first].status, rows[first].tries, rows[first].lease) == ("pending", 1, None)
    assert rows[first].due > precise_now()
    [attempt] = session.scalars(select(DeliveryAttempt).where(DeliveryAttempt.delivery_id == first))
    assert attempt.detail == outbox.FAULT


def turn_until_delivered(thread: Sender, session: Session, id_: int) -> dict[int, Delivery]:
    rows: dict[int, Delivery] = {}

    def is_delivered() -> bool:
        thread.turn()
        thread.rest(0.05)
        session.rollback()
        rows.update({row.id: row for row in session.scalars(select(Delivery))})
        return rows[id_].status == "delivered"

    wait_for(is_delivered, "the other delivery")
    return rows


@pytest.mark.parametrize("where", ["made", "written down"])
def test_a_mail(
    session: Session, engine: Engine, settings: Settings, throw: Any, alice: User, where: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    content, until = Content(title="t", text="x"), now() + dt.timedelta(days=1)
    first, second = (
        system_email.enqueue(session, alice.id, about, alice.email, content, until).delivery.id
        for about in ("first", "second")
    )
    session.commit()
    monkeypatch.setattr(sender, "attempt", delivered)
    if where == "made":
        throw(system_email, "message_of", lambda letter, _id: letter.about == "first")
    else:
        throw(sender, "write_down", lambda _session, _who, came: first in {id_ for id_, _, _ in came})
    thread = Sender(engine, settings)
    rows = turn_until_delivered(thread, session, second)
    wait_for(lambda: not thread.held or not thread.turn(), "the end of the other")
    session.rollback()
    assert rows[second].system_email.sent_datetime
    assert rows[second].system_email.content is None
    assert (rows[first].tries, rows[first].system_email.sent_datetime, rows[first].lease) == (1, None, None)
    assert rows[first].due > precise_now()
