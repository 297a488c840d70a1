"""The mail for a new password: it arrives, even if the worker is killed at any point."""

from __future__ import annotations

import datetime as dt
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from email.message import EmailMessage
from select import select as ready

import pytest
from sqlalchemy import Engine, create_engine, func, select, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts import one_time_addresses
from app.accounts.models import PasswordRequest, PasswordReset, User
from app.core import leases
from app.core.config import Settings
from app.core.database import prepare_engine
from app.jobs import mails
from app.notifications import sender
from app.notifications.models import Delivery
from app.notifications.sender import Sender
from tests.journal.children import Child, forks
from tests.notifications.receivers import MailReceiver
from tests.notifications.sending import send_all
from tests.server import SECONDS, wait_for

pytestmark = pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8", BASE_URL="https://go.example")
STOPS = ("asked", "written", "sent")


@pytest.fixture
def with_mail(settings: Settings, mail: MailReceiver) -> Settings:
    return replace(settings, smtp_url=f"smtp://127.0.0.1:{mail.port}", mail_from="way@go.example")


def connect(settings: Settings) -> Engine:
    engine = create_engine(settings.database_url)
    prepare_engine(engine, settings)
    return engine


def worker(settings: Settings) -> Sender:
    feed = lambda session: mails.answer_forgotten(session, settings)  # noqa: E731
    return Sender(connect(settings), settings, {"feed": feed})


def words_of(mail: EmailMessage) -> tuple[str, str]:
    """The plain text and the HTML of a mail."""
    text, html = mail.get_body(["plain"]), mail.get_body(["html"])
    assert text
    assert html
    return text.get_content(), html.get_content()


@pytest.mark.databases
def test_it_arrives_in_the_language_of_its_owner(
    session: scoped_session[Session], alice: User, bob: User, with_mail: Settings, mail: MailReceiver
) -> None:
    bob.language = "de"
    for email in (alice.email, "nobody@example.com", bob.email):
        one_time_addresses.request_reset(email)
    session.commit()
    thread = worker(with_mail)
    send_all(thread)
    thread.engine.dispose()
    assert [envelope.rcpt_tos for envelope, _ in mail.mails] == [[alice.email], [bob.email]]
    (_, english), (_, german) = mail.mails
    assert [one["Subject"] for one in (english, german)] == [
        "A new password for Waypost",
        "Ein neues Passwort für Waypost",
    ]
    for found, button, note in (
        (english, "Choose a new password", "Sent to alice@example.com by Waypost, because a user"),
        (german, "Neues Passwort wählen", "Von Waypost an bob@example.com gesendet, weil ein Benutzer dort"),
    ):
        text, html = words_of(found)
        assert f"{button}: https://go.example/login/reset?token=" in text
        assert note in html
        assert "List-Unsubscribe" not in found
    assert "a user there" not in "".join(words_of(german))
    token = words_of(english)[0].partition("token=")[2].split()[0]
    session.rollback()
    found = one_time_addresses.find_user(PasswordReset, token)
    assert found
    assert found.email == alice.email


def work(settings: Settings, stop_at: str, reached: int) -> None:
    """Run a worker that stops for ever right before it stores a result: the mail, or that it was sent."""

    def stop(*_: object, **_named: object) -> None:
        os.write(reached, b".")
        threading.Event().wait()

    if stop_at == "asked":
        one_time_addresses.make_reset = stop  # type: ignore[assignment]
    elif stop_at == "written":
        sender.attempt = stop  # type: ignore[assignment]
    elif stop_at == "sent":
        sender.write_down = stop
    worker(settings).run()


@forks
def test_killed_before_it_is_written_before_it_is_sent_and_after(
    session: scoped_session[Session],
    make_user: Callable[..., User],
    with_mail: Settings,
    mail: MailReceiver,
) -> None:
    emails = [make_user(f"{stop_at}@example.com").email for stop_at in STOPS]
    session.commit()
    engine, (reading, writing) = connect(with_mail), os.pipe()
    for stop_at, email in zip(STOPS, emails, strict=True):
        one_time_addresses.request_reset(email)
        session.commit()
        session.remove()
        child = Child(lambda stop_at=stop_at: work(with_mail, stop_at, writing))  # type: ignore[misc]
        assert ready([reading], [], [], SECONDS)[0], f"no worker came to a mail {stop_at}"
        assert os.read(reading, 1) == b"."
        child.kill()
    # only now: else the third would also send what the second has left, all of it before it is killed
    with engine.begin() as connection:
        connection.execute(update(Delivery).values(lease=leases.precise_now() - dt.timedelta(seconds=1)))
    last = Child(lambda: work(with_mail, "never", writing))
    wait_for(lambda: left(engine) == 0, "everything")
    last.kill()
    engine.dispose()
    os.close(reading)
    os.close(writing)
    told = [envelope.rcpt_tos[0] for envelope, _ in mail.mails]
    assert set(told) == set(emails), "none is lost"
    assert len(told) == len(emails) + 1, "and only the one whose sender was killed after it came twice"
    assert len({found["Message-ID"] for _, found in mail.mails}) == len(emails)


def left(engine: Engine) -> int:
    """How many password requests and unsent mails are left."""
    with engine.connect() as connection:
        asked = select(func.count()).select_from(PasswordRequest)
        waits = select(func.count()).select_from(Delivery).where(Delivery.due.is_not(None))
        return sum(connection.scalar(one) or 0 for one in (asked, waits))
