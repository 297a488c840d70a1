"""A new password, wherever it is set: it ends sessions, revokes keys on request, and sends a mail."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from app.accounts import keys, one_time_addresses
from app.accounts.models import User, UserSession
from app.core.clock import now
from app.core.extensions import db
from app.notifications.models import SystemEmail
from tests.accounts.test_sign_in import is_signed_in, sign_in, token_on
from tests.dashboard.conftest import Desk
from tests.factories import PASSWORD

NEW = "four quite new words"
WITH_MAIL = pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:2525", BASE_URL="http://localhost")
pytestmark = WITH_MAIL
Change = Callable[..., Any]


def on_the_account_page(app: Flask, desk: Desk, **more: str) -> None:
    sent = {"current_password": PASSWORD, "password": NEW, **more}
    assert desk.post("/account/password", sent).status_code == 303


def by_reset_mail(app: Flask, desk: Desk, **more: str) -> None:
    token = one_time_addresses.make_reset(db.session, db.session.scalars(select(User)).one())
    db.session.commit()
    client = app.test_client()
    page = client.get(f"/login/reset?token={token}")
    assert "Revoke all API keys" in page.text
    sent = {"csrf_token": token_on(page), "token": token, "password": NEW, **more}
    assert client.post("/login/reset", data=sent).status_code == 303


def by_command(app: Flask, desk: Desk, **more: str) -> None:
    flags = ["--revoke-keys"] if more.get("revoke_keys") == "1" else []
    db.session.commit()
    done = app.test_cli_runner().invoke(
        args=["users", "set-password", "--email", "alice@example.com", "--password-stdin", *flags],
        input=f"{NEW}\n",
    )
    assert done.exit_code == 0, done.output


WAYS = [on_the_account_page, by_reset_mail, by_command]


@pytest.mark.parametrize(("way", "revokes"), [*zip([*WAYS, *WAYS[:1]], ["0", "1"] * 2, strict=True)])
def test_a_new_password(
    app: Flask, desk: Desk, alice: User, make_key: Callable[..., Any], way: Change, revokes: str
) -> None:
    make_key(alice), make_key(alice, name="old", revoked_datetime=now() - dt.timedelta(days=1))
    other = app.test_client()
    sign_in(other)
    way(app, desk, revoke_keys=revokes)
    assert not is_signed_in(other)
    assert is_signed_in(desk.client) == (way is on_the_account_page)
    assert sign_in(app.test_client()).status_code == 403
    assert sign_in(app.test_client(), password=NEW).status_code == 303
    db.session.rollback()
    assert len(keys.active_keys(alice)) == (1 if revokes == "0" else 0)
    [letter] = db.session.scalars(select(SystemEmail))
    assert (letter.email, letter.content["title"]) == (alice.email, "Your account has a new password")
    assert ("One API key was revoked with it." in letter.content["text"]) == (revokes == "1")
    assert ("keys go on working" in letter.content["text"]) == (revokes == "0")
    assert NEW not in str(letter.content)


def test_the_session_goes_on_and_ends_when_it_would_have_ended(client: FlaskClient, alice: User) -> None:
    """Setting a password is not signing in: the session's 30 days still count from the sign-in."""
    sign_in(client, remember="1")
    began = now()
    for day in (10, 20, 29):
        with time_machine.travel(began + dt.timedelta(days=day)):
            assert is_signed_in(client)
    with time_machine.travel(began + dt.timedelta(days=29)):
        token = token_on(client.get("/dashboard/account/"))
        sent = {"csrf_token": token, "current_password": PASSWORD, "password": NEW}
        assert client.post("/dashboard/account/password", data=sent).status_code == 303
        assert is_signed_in(client)
    with time_machine.travel(began + dt.timedelta(days=30, seconds=1)):
        assert not is_signed_in(client)


class TestTheEndOfASession:
    def use_daily(self, client: FlaskClient, days: int) -> list[bool]:
        """Sign in, use the session each day, and return for each day whether it was still valid."""
        sign_in(client, remember="1")
        began, found = now(), []
        for day in range(1, days + 1):
            with time_machine.travel(began + dt.timedelta(days=day, seconds=1)):
                found.append(is_signed_in(client))
        return found

    @pytest.mark.settings(SESSION_DAYS="7")
    def test_or_when_the_setting_says(self, client: FlaskClient, alice: User) -> None:
        assert "For 7 days, on this device." in client.get("/login").text
        assert self.use_daily(client, 8) == [True] * 6 + [False] * 2

    @pytest.mark.settings(SESSION_DAYS="7")
    def test_a_shorter_setting_ends_those_that_were_begun_before(
        self, client: FlaskClient, alice: User, session: Any
    ) -> None:
        sign_in(client, remember="1")
        row = session.scalars(select(UserSession)).one()
        row.datetime = now() - dt.timedelta(days=8)
        row.expires_datetime = now() + dt.timedelta(days=22)
        session.commit()
        assert not is_signed_in(client)
        assert sign_in(client).status_code == 303
        assert client.get("/dashboard/account/").text.count("sessions_end") <= 1
