"""Does a mail of Waypost itself arrive once, is it tried again, and does nothing keep what it said?"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.claims import moment
from app.clock import now
from app.config import Settings
from app.extensions import db
from app.notifications import letters
from app.notifications.delivery import Outcome
from app.notifications.letters import Content, Postman
from app.notifications.models import Letter

CONTENT = Content(
    title="Come in", text="By this address.", url="https://go.example/setup?token=secret", button="Go"
)


@pytest.fixture
def postman(app: Any, settings: Settings, session: Session) -> Postman:
    return Postman(db.engine, settings)


@pytest.fixture
def letter(session: Session, alice: User) -> Letter:
    found = letters.post(session, alice.id, "test", "new@example.com", CONTENT, now() + dt.timedelta(hours=1))
    session.commit()
    return found


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the mail server says to each try in turn; what was sent comes after them."""
    found: list[Any] = []

    def attempt(type_: str, fields: dict[str, str], message: Any, _door: Any) -> Outcome:
        is_delivered = found.pop(0)
        found.append((type_, fields["email"], message.url))
        return Outcome(is_delivered=is_delivered, detail="said", datetime=moment(), duration_ms=1)

    monkeypatch.setattr(letters, "attempt", attempt)
    return found


@pytest.mark.databases
def test_it_is_sent_once_and_forgotten(
    session: Session, postman: Postman, letter: Letter, outcomes: list[Any]
) -> None:
    outcomes.append(True)
    assert postman.turn()
    assert not postman.turn()
    assert outcomes == [("email", "new@example.com", CONTENT.url)]
    session.refresh(letter)
    assert (letter.due, letter.content, letter.tries) == (None, None, 1)
    assert letter.sent_datetime


def test_it_is_tried_again_until_it_is_of_no_use(
    session: Session, postman: Postman, letter: Letter, outcomes: list[Any]
) -> None:
    outcomes.append(False)
    assert postman.turn()
    session.refresh(letter)
    assert letter.due and letter.due > moment()
    assert letter.content
    letter.due, letter.until = moment(), now()
    session.commit()
    outcomes.insert(0, False)
    assert postman.turn()
    session.refresh(letter)
    assert (letter.due, letter.content, letter.sent_datetime, letter.detail) == (None, None, None, "said")


def test_what_is_withdrawn_does_not_leave(
    session: Session, postman: Postman, letter: Letter, outcomes: list[Any]
) -> None:
    letters.withdraw(session, "test")
    session.commit()
    assert not postman.turn()
    assert session.scalars(select(Letter)).all() == []


def test_without_a_mail_server_it_says_so(session: Session, postman: Postman, letter: Letter) -> None:
    assert postman.turn()
    session.refresh(letter)
    assert "WAYPOST_SMTP_URL" in letter.detail
