"""Mails from Waypost itself: sent once, tried again, and their content deleted afterwards."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.core.clock import now
from app.core.config import Settings
from app.core.extensions import db
from app.core.leases import moment
from app.notifications import sender, system_email
from app.notifications.delivery import AttemptResult
from app.notifications.models import Delivery, Letter
from app.notifications.outbox import PAUSES, end_pending, put_off
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
def letter(session: Session, alice: User) -> Letter:
    found = system_email.post(
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
        return AttemptResult(is_delivered=is_delivered, detail="said", datetime=moment(), duration_ms=1)

    monkeypatch.setattr(sender, "attempt", attempt)
    return found


@pytest.mark.databases
def test_it_is_sent_once_and_forgotten(
    session: Session, outbox: Sender, letter: Letter, outcomes: list[Any]
) -> None:
    outcomes.append(True)
    send_all(outbox)
    send_all(outbox)
    assert outcomes == [("email", "new@example.com", CONTENT.url)]
    session.expire_all()
    assert (letter.due, letter.content, letter.tries) == (None, None, 1)
    assert letter.sent_datetime


def test_it_is_tried_again_until_it_is_of_no_use(
    session: Session, outbox: Sender, letter: Letter, outcomes: list[Any]
) -> None:
    outcomes.append(False)
    send_all(outbox)
    session.expire_all()
    assert letter.due and letter.due > moment()
    assert letter.content
    letter.delivery.due, letter.until = moment(), now()
    session.commit()
    outcomes.insert(0, False)
    send_all(outbox)
    session.expire_all()
    assert (letter.due, letter.content, letter.sent_datetime, letter.detail) == (None, None, None, "said")
    assert letter.delivery.status == "failed"


def test_a_fault_of_our_own_gives_it_up_in_the_end_and_keeps_no_content(
    session: Session, letter: Letter
) -> None:
    while letter.due:
        assert letter.content
        put_off(session, letter.delivery.id)
        session.expire_all()
    assert 0 < letter.tries <= len(PAUSES)
    assert letter.content is None
    assert letter.delivery.status == "failed"


def test_what_is_withdrawn_does_not_leave(
    session: Session, outbox: Sender, letter: Letter, outcomes: list[Any]
) -> None:
    system_email.withdraw(session, "test")
    session.commit()
    assert not outbox.turn()
    assert session.scalars(select(Letter.id)).all() == session.scalars(select(Delivery.id)).all() == []


def test_what_was_sent_is_not_withdrawn(
    session: Session, outbox: Sender, letter: Letter, outcomes: list[Any]
) -> None:
    outcomes.append(True)
    send_all(outbox)
    system_email.withdraw(session, "test")
    session.commit()
    assert session.scalars(select(Letter.id)).all() == [letter.id]


def test_without_a_mail_server_it_says_so(session: Session, outbox: Sender, letter: Letter) -> None:
    send_all(outbox)
    session.expire_all()
    assert "WAYPOST_SMTP_URL" in letter.detail


def test_handlers_that_fail_keep_no_mail(
    session: Session, outbox: Sender, letter: Letter, alice: User, make_handler: Any,
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
    assert letter.sent_datetime
