"""Rotation of the secret key: everything is encrypted anew while Waypost runs, also after a kill."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import requests
import sqlalchemy as sa
import time_machine
from flask import Flask
from sqlalchemy.orm import Session

from app.accounts.models import SecondFactor, User
from app.accounts.workspaces import access_of
from app.api.models import IdempotencyKey
from app.audit.models import AuditEntry
from app.cli.secrets import MAIL_TOKENS
from app.core.clock import now
from app.core.config import Settings
from app.core.encryption import encrypt_text
from app.core.extensions import db
from app.core.folders import ROOT
from app.core.secret_keys import check, ring
from app.core.secret_keys.check import (
    KeyState,
    Progress,
    adopt_first_key,
    compare_keys,
    raw_text,
    reencrypt_all,
    retire_key,
    sealed_columns,
)
from app.core.secret_keys.models import KeyRecord
from app.core.secret_keys.ring import fingerprint
from app.journal.shared_salt import DailySalt
from app.links import services as links
from app.notifications import confirmation, system_email, unsubscribe
from app.notifications import services as handlers
from app.notifications.models import NotificationHandler, SystemEmail
from app.trash.models import Trashed
from tests.crowds import Owner
from tests.keys import secret_keys
from tests.pages import Person
from tests.server import Server, wait_for

OLD, NEW = "the key of before, long enough", "the key of now, also long enough"
NEW_MARK = f"{fingerprint(NEW)}:"
PASSWORD_OF_OWNERS = "five small boats go upriver"


def stored_texts(session: Any) -> dict[str, list[str]]:
    session.rollback()
    return {
        str(column): list(session.scalars(sa.select(raw_text(column)).where(column.is_not(None))))
        for column in sealed_columns()
    }


@pytest.fixture
def furnished(session, alice: User, make_handler, make_link, factory) -> None:
    """A value encrypted with the old key in every encrypted column."""
    with secret_keys(OLD):
        handler = make_handler(alice)
        session.add(SecondFactor(user_id=alice.id, settings={"secret": "GEZDGNBV"}))
        system_email.enqueue(
            session, alice.id, "test", alice.email, system_email.Content(title="a", text="b"), now()
        )
        digest = {"digest": "d", "token": "t", "lease_until": now(), "answer": {"body": "{}"}}
        session.add(IdempotencyKey(**access_of(alice).row_columns, key="k", **digest))
        link = make_link(alice, "launch")
        links.update(link, {"location_url": "https://other.example/"})
        links.delete(make_link(alice, "gone"))
        handlers.delete(make_handler(alice))
        factory.share(alice)
        session.add(DailySalt(day=now().date(), salt={"salt": "00ff"}))
        retire_key(session, "the one before the old one", OLD, {"unsubscribe": "00ff"})
        session.commit()
        assert handler.id


def test_every_column_is_furnished(session, furnished) -> None:
    assert all(stored_texts(session).values())


@pytest.mark.databases
def test_everything_is_encrypted_anew(session, furnished, alice: User) -> None:
    session.expunge_all()
    with secret_keys(NEW, OLD):
        done = reencrypt_all(session, (NEW, OLD))
        session.commit()
    texts = [text for found in stored_texts(session).values() for text in found]
    assert done == Progress(len(texts), 0)
    assert all(text.startswith(f"{fingerprint(NEW)}:") for text in texts)
    with secret_keys(NEW):
        assert session.scalars(sa.select(NotificationHandler)).one().settings == {
            "email": "owner@example.com"
        }
        assert session.scalars(sa.select(SecondFactor)).one().settings == {"secret": "GEZDGNBV"}
        assert session.scalars(sa.select(SystemEmail)).one().content["title"] == "a"
        assert session.scalars(sa.select(IdempotencyKey)).one().answer == {"body": "{}"}
        assert {one.rows[one.kind][0]["id"] > 0 for one in session.scalars(sa.select(Trashed))} == {True}
        assert reencrypt_all(session, (NEW, OLD)) == Progress()


@pytest.mark.databases
def test_more_rows_than_fit_a_step_and_some_that_no_key_reads(
    session, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also values from before there were fingerprints."""
    monkeypatch.setattr(check, "BATCH_SIZE", 10)
    table = NotificationHandler.__table__
    texts = [encrypt_text(b"{}", OLD) for _ in range(2 * check.BATCH_SIZE)]
    texts += [encrypt_text(b"{}", OLD).partition(":")[2], encrypt_text(b"{}", "lost"), "damaged"]
    base = {
        **access_of(alice).row_columns,
        "type": "email",
        "name": "x",
        "is_enabled": True,
        "datetime": now(),
    }
    for text in texts:
        values = {**base, "settings": sa.type_coerce(text, sa.Text)}
        session.execute(sa.insert(table).values(values))
    session.commit()
    with secret_keys(NEW, OLD):
        assert reencrypt_all(session, (NEW, OLD)) == Progress(len(texts) - 2, 2)
        session.commit()
    left = [text for text in stored_texts(session)["notification_handler.settings"] if NEW_MARK not in text]
    assert left == texts[-2:]


@pytest.mark.databases
def test_what_is_written_meanwhile_is_not_missed(session, furnished, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the short transactions, a process writes a value with the old key."""
    handler = session.scalars(sa.select(NotificationHandler)).one()
    sealed = encrypt_text(b'{"email": "new@example.com"}', OLD)
    reencrypt = check.reencrypt

    def write_first(given: Any, keys: Any, *, commits: bool) -> Progress:
        done = reencrypt(given, keys, commits=commits)
        if commits:
            values = {"settings": sa.type_coerce(sealed, sa.Text)}
            given.execute(sa.update(NotificationHandler.__table__).values(values))
            given.commit()
        return done

    monkeypatch.setattr(check, "reencrypt", write_first)
    with secret_keys(NEW, OLD):
        reencrypt_all(session, (NEW, OLD))
        session.commit()
    session.expire_all()
    with secret_keys(NEW):
        assert handler.settings == {"email": "new@example.com"}


def test_mails_of_before_still_end_with_one_click(session, alice: User, make_handler, client) -> None:
    with secret_keys(OLD):
        handler = make_handler(alice)
        token = unsubscribe.TOKENS.sign([handler.id, unsubscribe.place_of(handler)])
    with secret_keys(NEW, OLD):
        reencrypt_all(session, (NEW, OLD))
        retire_key(session, OLD, NEW, {tokens.purpose: tokens.verifier_of(OLD) for tokens in MAIL_TOKENS})
        session.commit()
        assert compare_keys(session, (NEW,)) == (KeyState.RIGHT, fingerprint(NEW))
    with secret_keys(NEW):
        session.expire_all()
        assert unsubscribe.handler_of(session, token) is handler
        assert unsubscribe.handler_of(session, token[:-2] + "xx") is None
    assert OLD not in str(stored_texts(session))


def test_a_mail_of_before_still_confirms_an_address(session, alice: User, make_handler) -> None:
    """A mail sent before the rotation confirms for its seven days, and no longer."""
    with secret_keys(OLD):
        handler = make_handler(alice, is_confirmed=False)
        token = confirmation.token_of(handler)
        assert unsubscribe.handler_of(session, token) is None
        with time_machine.travel(dt.datetime.now(dt.UTC) - dt.timedelta(days=8)):
            late = confirmation.token_of(handler)
    with secret_keys(NEW, OLD):
        assert confirmation.find_handler(session, token) is handler
        reencrypt_all(session, (NEW, OLD))
        retire_key(session, OLD, NEW, {tokens.purpose: tokens.verifier_of(OLD) for tokens in MAIL_TOKENS})
        session.commit()
    with secret_keys(NEW):
        session.expire_all()
        assert confirmation.find_handler(session, token) is handler
        with pytest.raises(confirmation.Expired):
            confirmation.find_handler(session, late)


@pytest.mark.databases
def test_of_several_machines_that_start_at_once_the_first_ones_key_counts(session, app: Flask) -> None:
    """Each machine has made a key of its own, and seen that the database has none."""
    names = [f"a key of machine {number}" for number in range(4)]
    engine, begin = db.engine, threading.Barrier(len(names))

    def start(key: str) -> None:
        with Session(engine) as own:
            begin.wait(60)
            adopt_first_key(own, key)

    threads = [threading.Thread(target=start, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.rollback()
    record = session.scalars(sa.select(KeyRecord)).one()
    assert record.fingerprint in map(fingerprint, names)
    assert record.retired_datetime is None


# ------------------------------------------------------------- the command


@pytest.fixture
def run(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    from app.cli import secrets

    monkeypatch.setattr(secrets, "LEARNING_SECONDS", 0.0)
    return lambda *arguments: app.test_cli_runner().invoke(args=["secrets", *arguments])


def test_a_key_of_the_settings_needs_two_starts(
    run, settings: Settings, session, make_handler, alice
) -> None:
    make_handler(alice)
    first = run("rotate")
    assert first.exit_code == 1
    assert "WAYPOST_SECRET_KEY_OLD" in first.output
    assert "restart Waypost" in first.output
    with secret_keys(NEW, settings.secret_key):
        done = run("rotate")
    assert done.exit_code == 0, done.output
    assert "Take WAYPOST_SECRET_KEY_OLD away, and restart Waypost." in done.output
    with secret_keys(NEW):
        session.expire_all()
        assert session.scalars(sa.select(NotificationHandler)).one().settings == {
            "email": "owner@example.com"
        }
        assert compare_keys(session, (NEW,))[0] is KeyState.RIGHT
    entry = session.scalars(sa.select(AuditEntry).where(AuditEntry.action == "secret_key.rotated")).one()
    assert entry.changes == {"fingerprint": [fingerprint(settings.secret_key), fingerprint(NEW)]}


class Busy:
    """An owner who keeps reading and writing handlers and opening the dashboard."""

    def __init__(self, server: Server) -> None:
        self.owner = Owner(server)
        self.person = Person(server.url)
        page = self.person.open("/login")
        self.person.send_form(page, "/login", email="owner@example.com", password=PASSWORD_OF_OWNERS)
        self.handlers = [self.make_handler(number) for number in range(60)]
        self.ended, self.failures = threading.Event(), []

    def make_handler(self, number: int) -> int:
        answer = self.ask("", type="webhook", name="x", webhook=f"https://a.example/{number}")
        return int(answer.json()["data"]["id"])

    def ask(self, path: str, **fields: Any) -> requests.Response:
        address = f"{self.owner.site}/notification-handlers{path}"
        return self.owner.session.request(
            "POST" if fields else "GET", address, json=fields or None, timeout=90
        )

    def work(self) -> None:
        number = 0
        while not self.ended.is_set():
            number += 1
            address, path = f"https://a.example/{number}", f"/{self.handlers[number % len(self.handlers)]}"
            statuses = (
                self.ask(path, webhook=address).status_code,
                self.person.open("/dashboard/handlers/", allow_redirects=False).status_code,
            )
            found = self.ask(path)
            if statuses != (200, 200) or found.json()["data"]["settings"]["webhook"] != address:
                self.failures.append((statuses, found.text))


@pytest.mark.full
def test_beside_a_running_server_and_killed_in_the_middle(make_server: Callable[..., Server]) -> None:
    server = make_server(PROCESSES="2")
    busy = Busy(server)
    first = (server.data_dir / ring.FILE).read_text()
    thread = threading.Thread(target=busy.work)
    thread.start()
    try:
        for kill_when in (ring.OLD_FILE, None):
            out, err = rotate(server, kill_when)
    finally:
        busy.ended.set()
        thread.join()
    current = (server.data_dir / ring.FILE).read_text()
    assert not busy.failures, busy.failures[:3]
    assert f"The secret key is {fingerprint(current)} now." in out, err
    assert [path.name for path in server.data_dir.glob("*secret_key*")] == [ring.FILE]
    retired = {path.name: path.read_text() for path in (server.data_dir / "retired_keys").iterdir()}
    assert retired[fingerprint(first)] == first
    assert all(fingerprint(key) == name for name, key in retired.items())
    assert {busy.ask(f"/{id_}").json()["data"]["settings"]["webhook"][:10] for id_ in busy.handlers} == {
        "https://a."
    }
    assert "decrypts what is stored" in server.flask("doctor")


def rotate(server: Server, kill_when: str | None) -> tuple[str, str]:
    """Runs a rotation, and kills it soon after a file of that name exists."""
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "secrets", "rotate"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, env=server.environ, text=True, stdout=pipe, stderr=pipe)
    if kill_when is not None:
        path = server.data_dir / kill_when
        wait_for(lambda: path.exists() or process.poll() is not None, f"{kill_when} of a rotation")
        process.kill()
    return process.communicate()
