"""Mails from Waypost itself: sent once, tried again, and their content deleted afterwards."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.core.clock import now
from app.core.config import Settings
from app.core.extensions import db
from app.core.leases import precise_now
from app.notifications import sender, system_email
from app.notifications.delivery import AttemptResult
from app.notifications.models import SystemEmail
from app.notifications.outbox import end_pending
from app.notifications.sender import Sender
from app.notifications.system_email import Content
from tests.notifications.sending import send_all

CONTENT = Content(
    title="Come in", text="By this address.", url="https://go.example/setup?token=secret", button="Go"
)


@pytest.fixture
def outbox(app: Any, settings: Settings, session: Session) -> Sender:
    return Sender(db.engine, settings)


@pytest.fixture
def queued(session: Session, alice: User) -> SystemEmail:
    found = system_email.enqueue(
        session, alice.id, "test", "new@example.com", CONTENT, now() + dt.timedelta(hours=1)
    )
    session.commit()
    return found


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The results of the next attempts, in their order; the sent messages are appended to them."""
    found: list[Any] = []

    def attempt(type_: str, fields: dict[str, str], message: Any, _door: Any, **_: Any) -> AttemptResult:
        is_delivered = found.pop(0)
        found.append((type_, fields["email"], message.url))
        return AttemptResult(is_delivered=is_delivered, detail="said", datetime=precise_now(), duration_ms=1)

    monkeypatch.setattr(sender, "attempt", attempt)
    return found


@pytest.mark.databases
def test_it_is_sent_once_and_forgotten(
    session: Session, outbox: Sender, queued: SystemEmail, outcomes: list[Any]
) -> None:
    outcomes.append(True)
    send_all(outbox)
    send_all(outbox)
    assert outcomes == [("email", "new@example.com", CONTENT.url)]
    session.expire_all()
    assert (queued.due, queued.content, queued.tries) == (None, None, 1)
    assert queued.sent_datetime


def test_it_is_tried_again_until_it_is_of_no_use(
    session: Session, outbox: Sender, queued: SystemEmail, outcomes: list[Any]
) -> None:
    outcomes.append(False)
    send_all(outbox)
    session.expire_all()
    assert queued.due and queued.due > precise_now()
    assert queued.content
    queued.delivery.due, queued.until = precise_now(), now()
    session.commit()
    outcomes.insert(0, False)
    send_all(outbox)
    session.expire_all()
    assert (queued.due, queued.content, queued.sent_datetime, queued.detail) == (None, None, None, "said")
    assert queued.delivery.status == "failed"


def test_handlers_that_fail_keep_no_mail(
    session: Session, outbox: Sender, queued: SystemEmail, alice: User, make_handler: Any,
    outcomes: list[Any], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Also where only healthy receivers have threads left, and a disabled handler ends its deliveries."""
    make_handler(alice, failing_since=now() - dt.timedelta(days=1))
    monkeypatch.setattr(sender, "MAX_FAILING", 0)
    end_pending(session)
    session.commit()
    outcomes.append(True)
    send_all(outbox)
    session.expire_all()
    assert queued.sent_datetime
