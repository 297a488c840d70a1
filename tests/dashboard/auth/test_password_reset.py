"""Password reset by mail: it works once, for an hour, and reveals no account."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import time_machine
from flask import Flask
from sqlalchemy import event, select
from sqlalchemy.orm import Session
from werkzeug.test import TestResponse

from app.accounts import one_time_addresses, sessions
from app.accounts.models import PasswordRequest, PasswordReset, User
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.extensions import db
from app.jobs.mails import answer_forgotten
from app.notifications.models import SystemEmail
from app.web.application import settings
from tests.accounts.test_sign_in import is_signed_in, sign_in, token_on

NEW = "four quite new words"
pytestmark = pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:2525", BASE_URL="http://localhost")


def ask(client, email: str) -> TestResponse:
    token = token_on(client.get("/login/forgotten"))
    return client.post("/login/forgotten", data={"csrf_token": token, "email": email})


def work(settings: Settings) -> None:
    """Process the waiting reset requests, as the worker does."""
    with Session(db.engine) as session:
        while answer_forgotten(session, settings):
            pass


def letters(session) -> list[SystemEmail]:
    session.rollback()
    work(settings())
    return list(session.scalars(select(SystemEmail)))


def mailed(session) -> str:
    """The path of the reset address in the only mail that waits."""
    [letter] = letters(session)
    assert letter.email == "alice@example.com"
    return letter.content["url"].removeprefix("http://localhost")


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collects the SQL statements that are executed inside the block."""
    found: list[str] = []

    def note(_connection, _cursor, statement: str, *_rest: object) -> None:
        found.append(statement)

    event.listen(db.engine, "before_cursor_execute", note)
    yield found
    event.remove(db.engine, "before_cursor_execute", note)


def set_new(client, path: str, password: str = NEW) -> TestResponse:
    page = client.get(path)
    if page.status_code != 200:
        return page
    data = {"csrf_token": token_on(page), "token": path.partition("token=")[2], "password": password}
    return client.post("/login/reset", data=data)


def test_by_mail(client, alice: User, session) -> None:
    other = sessions.begin(alice)
    session.commit()
    assert "/login/forgotten" in client.get("/login").text
    assert ask(client, " Alice@Example.com").status_code == 200
    path = mailed(session)
    page = client.get(path)
    assert page.headers["Referrer-Policy"] == "same-origin"  # the address is passed to no other site
    assert page.headers["Cache-Control"] == "no-store"
    assert set_new(client, path, "short").status_code == 422
    assert set_new(client, path).location == "/login"
    assert not is_signed_in(client)
    assert sessions.find(other) is None
    assert sign_in(client).status_code == 403
    assert sign_in(client, password=NEW).location == "/dashboard/"
    assert set_new(client, path).status_code == 410


def test_the_answer_tells_nobody_who_has_an_account(client, alice: User, session) -> None:
    with statements() as of_known:
        known = ask(client, "alice@example.com")
    with statements() as of_unknown:
        unknown = ask(client, "carol@example.com")
    assert known.text.replace("alice@", "carol@") == unknown.text
    assert known.status_code == unknown.status_code == 200
    assert of_known == of_unknown
    assert any("INSERT" in text for text in of_known)
    assert session.scalars(select(SystemEmail)).all() == session.scalars(select(PasswordReset)).all() == []
    assert mailed(session)
    assert session.scalars(select(PasswordRequest)).all() == []
    for bad in ("", "nonsense", "a@b@c"):
        assert ask(client, bad).status_code == 422


def test_only_the_newest_address_is_good(client, alice: User, session) -> None:
    ask(client, alice.email)
    first = mailed(session)
    ask(client, alice.email)
    second = mailed(session)  # and the first mail, which was not sent yet, is dropped
    assert set_new(client, first).status_code == 410
    assert set_new(client, second).status_code == 303


def test_for_an_hour_and_until_another_password_is_set(client, alice: User, session) -> None:
    ask(client, alice.email)
    path = mailed(session)
    with time_machine.travel(now() + dt.timedelta(minutes=61)):
        assert client.get(path).status_code == 410
        begin_write(session)
        session.rollback()
        one_time_addresses.sweep(session, PasswordReset)
        assert session.scalars(select(PasswordReset)).all() == []
    ask(client, alice.email)
    path = mailed(session)
    alice.session_version += 1
    session.commit()
    assert client.get(path).status_code == 410


@pytest.mark.parametrize("state", ["disabled_datetime", "deleted_datetime"])
def test_not_for_who_may_not_come_in(client, alice: User, session, state: str) -> None:
    token = one_time_addresses.make_reset(session, alice)
    setattr(alice, state, now())
    session.commit()
    assert client.get(f"/login/reset?token={token}").status_code == 410
    assert ask(client, alice.email).status_code == 200
    assert letters(session) == []


@pytest.mark.settings(BASE_URL="")
def test_the_address_is_that_of_the_settings_and_not_of_the_request(client, alice: User, session) -> None:
    token = token_on(client.get("/login/forgotten", headers={"Host": "evil.example"}))
    data = {"csrf_token": token, "email": alice.email}
    client.post("/login/forgotten", data=data, headers={"Host": "evil.example"})
    [letter] = letters(session)
    assert letter.content["url"].startswith("http://127.0.0.1:8000/login/reset?token=")


def test_nobody_is_flooded_with_mails(client, alice: User, bob: User) -> None:
    assert [ask(client, alice.email).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert ask(client, bob.email).status_code == 200


@pytest.mark.settings(SMTP_URL="")
def test_without_a_mail_server_there_is_no_such_page(client, alice: User) -> None:
    page = client.get("/login").text
    assert "users set-password" in page
    assert "/login/forgotten" not in page
    assert client.get("/login/forgotten").status_code == 404


@pytest.mark.databases
def test_used_twice_at_once_it_sets_one_password(app: Flask, alice: User, session) -> None:
    token = one_time_addresses.make_reset(session, alice)
    session.commit()
    ready, found = threading.Barrier(4), []

    def use(number: int) -> None:
        with app.app_context():
            ready.wait()
            begin_write(db.session)
            user = one_time_addresses.use_reset(token, f"hash {number}")
            db.session.commit()
            found.append(user and user.password_hash)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.expire_all()
    assert [one for one in found if one] == [alice.password_hash]
