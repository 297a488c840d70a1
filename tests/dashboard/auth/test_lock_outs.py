"""Lock-outs: strangers can't lock an owner out of a known browser or an open session."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
import time_machine
from flask import Flask
from flask.testing import FlaskClient

from app.accounts.models import User
from app.core.clock import now
from app.dashboard.auth import rate_limits
from app.dashboard.auth.rate_limits import (
    BY_ACCOUNT,
    BY_ADDRESS,
    BY_BROWSER,
    CODE,
    KNOWN_BY_ACCOUNT,
)
from tests.accounts.codes import code_of, switch_on
from tests.accounts.test_sign_in import is_signed_in, sign_in, token_on
from tests.factories import PASSWORD

NEW = "an even longer phrase than that"


def sign_out(client: FlaskClient) -> None:
    client.post("/logout", data={"csrf_token": token_on(client.get("/logout"))})
    assert not is_signed_in(client)


@pytest.fixture
def attack(app: Flask, alice: User) -> Callable[[], None]:
    """Use up all tries for alice's account, and all tries of alice's own network."""
    email = alice.email

    def run() -> None:
        for number in range(BY_ACCOUNT.amount):
            where = {"REMOTE_ADDR": f"192.0.2.{number}"}
            assert sign_in(app.test_client(), email, "a guess", environ=where).status_code == 403
        for number in range(BY_ADDRESS.amount):
            sign_in(app.test_client(), f"{number}@example.com", "a guess")
        assert sign_in(app.test_client(), email, environ={"REMOTE_ADDR": "198.51.100.1"}).status_code == 429
        assert sign_in(app.test_client(), email).status_code == 429

    return run


def test_a_browser_that_was_signed_in_gets_in(client: FlaskClient, attack: Callable[[], None]) -> None:
    sign_in(client)
    sign_out(client)
    attack()
    assert sign_in(client).status_code == 303
    assert is_signed_in(client)


def test_an_open_session_still_takes_the_password(client: FlaskClient, attack: Callable[[], None]) -> None:
    sign_in(client)
    attack()
    sent = {"csrf_token": token_on(client.get("/dashboard/account/")), "current_password": PASSWORD}
    assert client.post("/dashboard/account/password", data={**sent, "password": NEW}).status_code == 303


def test_a_known_browser_guesses_no_oftener_than_a_stranger(
    client: FlaskClient, app: Flask, alice: User
) -> None:
    sign_in(client)
    sign_out(client)
    for number in range(BY_BROWSER.amount):
        where = {"REMOTE_ADDR": f"192.0.2.{number}"}
        assert sign_in(client, password="a guess", environ=where).status_code == 403
    assert sign_in(client).status_code == 429
    assert sign_in(app.test_client()).status_code == 303, "nor does it lock out anybody else"


def test_many_known_browsers_together_have_a_limit(app: Flask, alice: User) -> None:
    """An attacker who once knew the password could have collected cookies of known browsers."""
    clients = [app.test_client() for _ in range(KNOWN_BY_ACCOUNT.amount // BY_BROWSER.amount + 1)]
    for number, client in enumerate(clients):
        assert sign_in(client, environ={"REMOTE_ADDR": f"192.0.2.{number}"}).status_code == 303
        sign_out(client)
    with time_machine.travel(now().timestamp() + BY_BROWSER.get_expiry() + 1):
        found = [
            sign_in(client, password="a guess").status_code
            for client in clients
            for _ in range(BY_BROWSER.amount)
        ]
        assert found == [403] * KNOWN_BY_ACCOUNT.amount + [429] * (len(found) - KNOWN_BY_ACCOUNT.amount)


def test_a_browser_is_known_for_the_accounts_that_it_had(
    client: FlaskClient, attack: Callable[[], None], make_user: Callable[..., User]
) -> None:
    make_user("carol@example.com")
    sign_in(client, "carol@example.com")
    sign_out(client)
    attack()
    assert sign_in(client).status_code == 429
    assert sign_in(client, "carol@example.com").status_code == 303


def test_a_forged_cookie_makes_nobody_known(client: FlaskClient, attack: Callable[[], None]) -> None:
    attack()
    for value in ("", "x.y.z", "\xff", "WyJhIixbMV1d.aaaa.bbbb", "a" * 4000):
        client.set_cookie(rate_limits.BROWSER_COOKIE, value)
        assert sign_in(client).status_code == 429, value


def test_the_cookie(client: FlaskClient, alice: User) -> None:
    def cookie_of(**environ: str) -> str:
        answer = sign_in(client, environ=environ)
        return next(
            line for line in answer.headers.getlist("Set-Cookie") if rate_limits.BROWSER_COOKIE in line
        )

    plain = cookie_of()
    assert plain.startswith(f"{rate_limits.BROWSER_COOKIE}=")
    assert "HttpOnly; Path=/; SameSite=Strict" in plain
    assert "Secure" not in plain
    assert "alice" not in plain
    sign_out(client)
    safe = cookie_of(**{"wsgi.url_scheme": "https"})
    assert safe.startswith(f"__Host-{rate_limits.BROWSER_COOKIE}=")
    assert "Secure; HttpOnly; Path=/; SameSite=Strict" in safe


def test_the_codes_of_a_known_browser_count_for_themselves(
    app: Flask, client: FlaskClient, alice: User
) -> None:
    """Strangers who know the password can't use up the tries of a known browser either."""
    with time_machine.travel(now() - dt.timedelta(minutes=5)):
        switch_on(alice)
        sign_in(client)
        assert give_code(client, code_of(alice, 1)) == 303
        sign_out(client)
    stranger = app.test_client()
    sign_in(stranger)
    assert [give_code(stranger, "000000") for _ in range(CODE.amount + 1)] == [403] * CODE.amount + [429]
    sign_in(client)
    assert give_code(client, code_of(alice)) == 303


def give_code(client: FlaskClient, code: str) -> int:
    sent = {"csrf_token": token_on(client.get("/login/code")), "code": code}
    return client.post("/login/code", data=sent).status_code
