"""Sign-in by password and by set-up address: sessions, sign-out, CSRF and rate limits."""

from __future__ import annotations

import datetime as dt
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import time_machine
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.accounts import services, setup
from app.accounts.models import User
from app.core import clock
from app.core.config import Settings
from app.dashboard.auth.rate_limits import BY_ACCOUNT, BY_ADDRESS, BY_SESSION
from tests.factories import PASSWORD
from tests.threads import at_once
from tests.users import create_user

ELSEWHERE = {
    "another host": "https://evil.example/",
    "without a scheme": "//evil.example",
    "with a backslash": "/\\evil.example",
    "somebody's short link": "/promo",
    "up and out": "/dashboard/../promo",
    "up and out, written otherwise": "/dashboard/%2e%2e/promo",
    "a script": "javascript:alert(1)",
    "with a line end": "/dashboard/\r\nX: y",
    "signing out": "/logout",
}


def token_on(page: TestResponse) -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
    assert found, page.text
    return found[1]


def sign_in(
    client: FlaskClient, email: str = "alice@example.com", password: str = PASSWORD, **sent: Any
) -> TestResponse:
    environ = sent.pop("environ", {})
    token = token_on(client.get("/login", environ_overrides=environ))
    data = {"csrf_token": token, "email": email, "password": password, **sent}
    return client.post("/login", data=data, environ_overrides=environ)


def is_signed_in(client: FlaskClient, **options: Any) -> bool:
    return client.get("/dashboard/account/", **options).status_code == 200


def cookie_of(answer: TestResponse) -> str:
    """The `Set-Cookie` header of the session cookie."""
    return next(line for line in answer.headers.getlist("Set-Cookie") if "waypost=" in line)


class TestSigningIn:
    def test_with_the_right_password(self, client: FlaskClient, alice: User) -> None:
        assert not is_signed_in(client)
        answer = sign_in(client, " Alice@Example.com ")
        assert (answer.status_code, answer.location) == (303, "/dashboard/")
        assert is_signed_in(client)
        assert client.get("/login").location == "/dashboard/"

    @pytest.mark.parametrize(
        ("email", "password"),
        [("alice@example.com", "wrong"), ("bob@example.com", PASSWORD), ("nonsense", PASSWORD)],
    )
    def test_not_with_anything_else_and_never_why(
        self, client: FlaskClient, alice: User, email: str, password: str
    ) -> None:
        answer = sign_in(client, email, password)
        assert answer.status_code == 403
        assert "do not match" in answer.text
        assert f'value="{email}"' in answer.text
        assert password not in answer.text
        assert not is_signed_in(client)

    def test_with_nothing_typed_both_fields_say_so(self, client: FlaskClient, alice: User) -> None:
        answer = sign_in(client, "", "")
        assert answer.status_code == 422
        assert answer.text.count("This can&#39;t be empty.") == 2

    def test_leads_on_to_the_page_that_was_asked_for(self, client: FlaskClient, alice: User) -> None:
        answer = client.get("/dashboard/keys/?page=2")
        assert answer.location == "/login?next=/dashboard/keys/?page%3D2"
        page = client.get(answer.location)
        assert 'name="next" value="/dashboard/keys/?page=2"' in page.text
        assert sign_in(client, next="/dashboard/keys/?page=2").location == "/dashboard/keys/?page=2"

    @pytest.mark.parametrize("address", ELSEWHERE.values(), ids=ELSEWHERE)
    def test_never_leads_elsewhere(self, client: FlaskClient, alice: User, address: str) -> None:
        assert sign_in(client, next=address).location == "/dashboard/"

    @pytest.mark.parametrize("path", ["/login", "/logout", "/setup"])
    def test_these_pages_are_in_no_cache_and_no_frame(
        self, client: FlaskClient, alice: User, path: str
    ) -> None:
        headers = client.get(path).headers
        assert headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


class TestTheSession:
    def test_lasts_until_the_browser_closes_or_thirty_days(self, client: FlaskClient, alice: User) -> None:
        assert "Expires" not in cookie_of(sign_in(client))
        client.post("/logout", data={"csrf_token": token_on(client.get("/logout"))})
        kept = cookie_of(sign_in(client, remember="1"))
        assert "Expires" in kept
        with time_machine.travel(clock.now() + dt.timedelta(days=31)):
            assert not is_signed_in(client)

    def test_is_http_only_and_lax_and_bound_to_the_host_on_https(
        self, client: FlaskClient, alice: User
    ) -> None:
        plain = cookie_of(sign_in(client))
        assert plain.startswith("waypost=")
        assert "HttpOnly" in plain
        assert "SameSite=Lax" in plain
        assert "Secure" not in plain
        safe = cookie_of(sign_in(client, environ={"wsgi.url_scheme": "https"}))
        assert safe.startswith("__Host-waypost=")
        assert "Secure" in safe
        assert "Path=/" in safe
        assert "Domain" not in safe

    def test_of_http_is_none_on_https(self, client: FlaskClient, alice: User) -> None:
        sign_in(client)
        assert is_signed_in(client)
        assert not is_signed_in(client, environ_overrides={"wsgi.url_scheme": "https"})

    def test_takes_nothing_over_from_before(self, client: FlaskClient, alice: User) -> None:
        before = token_on(client.get("/login"))
        client.post("/login", data={"csrf_token": before, "email": alice.email, "password": PASSWORD})
        assert client.post("/logout", data={"csrf_token": before}).location != "/login"
        assert is_signed_in(client)


class TestSigningOut:
    def test_opening_the_address_only_shows_a_button(self, client: FlaskClient, alice: User) -> None:
        sign_in(client)
        assert "<button" in client.get("/logout").text
        assert is_signed_in(client)

    def test_nobody_signs_out_twice(self, client: FlaskClient) -> None:
        assert client.get("/logout").location == "/login"


class TestForgery:
    def test_without_the_token_nothing_happens_and_the_form_comes_back(
        self, client: FlaskClient, alice: User
    ) -> None:
        answer = client.post(
            "/login", data={"email": alice.email, "password": PASSWORD, "next": "/dashboard/keys/"}
        )
        assert (answer.status_code, answer.location) == (303, "/login?next=/dashboard/keys/")
        assert "open for too long" in client.get(answer.location).text
        assert not is_signed_in(client)

    @pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}])  # fmt: skip
    def test_from_another_site_is_refused(
        self, client: FlaskClient, alice: User, headers: dict[str, str]
    ) -> None:
        data = {"csrf_token": token_on(client.get("/login")), "email": alice.email, "password": PASSWORD}
        assert client.post("/login", data=data, headers=headers).status_code == 403
        assert not is_signed_in(client)
        assert (
            client.post(
                "/login", data=data, headers={"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
            ).status_code
            == 303
        )


class TestThrottling:
    def test_an_account_takes_so_many_wrong_tries_from_wherever(
        self, client: FlaskClient, alice: User
    ) -> None:
        for number in range(BY_ACCOUNT.amount):
            answer = sign_in(client, password="wrong", environ={"REMOTE_ADDR": f"192.0.2.{number}"})
            assert answer.status_code == 403
        answer = sign_in(client, environ={"REMOTE_ADDR": "198.51.100.1"})
        assert answer.status_code == 429
        assert "Too many attempts. Wait 10 minutes" in answer.text
        assert 0 < int(answer.headers["Retry-After"]) <= 600
        assert not is_signed_in(client)

    def test_and_are_forgiven_by_a_right_one(self, app: Flask, alice: User) -> None:
        for _ in range(2):
            for _ in range(BY_ACCOUNT.amount - 1):
                assert sign_in(app.test_client(), password="wrong").status_code == 403
            assert sign_in(app.test_client(), environ={"REMOTE_ADDR": "192.0.2.1"}).status_code == 303

    def test_an_address_takes_so_many_whatever_the_account(self, client: FlaskClient, alice: User) -> None:
        for number in range(BY_ADDRESS.amount):
            assert sign_in(client, f"{number}@example.com").status_code == 403
        assert sign_in(client).status_code == 429
        assert sign_in(client, environ={"REMOTE_ADDR": "192.0.2.1"}).status_code == 303

    def test_also_holds_for_the_current_password(self, client: FlaskClient, alice: User, session) -> None:
        sign_in(client, remember="1")
        token = token_on(client.get("/dashboard/account/"))
        change = {"csrf_token": token, "current_password": "wrong", "password": "another one entirely"}
        for _ in range(BY_SESSION.amount):
            assert client.post("/dashboard/account/password", data=change).status_code == 422
        answer = client.post("/dashboard/account/password", data=change | {"current_password": PASSWORD})
        assert (answer.status_code, "Too many attempts" in answer.text) == (429, True)
        with time_machine.travel(clock.now() + dt.timedelta(seconds=602)):
            answer = client.post("/dashboard/account/password", data=change | {"current_password": PASSWORD})
            assert answer.status_code == 303
            assert "Expires" in cookie_of(answer)  # this browser stays signed in, for as long as before
            assert is_signed_in(client)


@pytest.fixture
def token(settings: Settings, session) -> str:
    return setup.setup_token(settings.data_dir)


def set_up(client: FlaskClient, token: str, **sent: str) -> TestResponse:
    csrf_token = token_on(client.get(f"/setup?token={token}"))
    data = {
        "csrf_token": csrf_token,
        "token": token,
        "email": "alice@example.com",
        "password": PASSWORD,
        **sent,
    }
    return client.post("/setup", data=data)


class TestSettingUp:
    def test_the_address_makes_the_first_account_and_signs_it_in(
        self, client: FlaskClient, settings: Settings, token: str
    ) -> None:
        answer = set_up(client, token, name="Alice")
        assert (answer.status_code, answer.location) == (303, "/dashboard/")
        [user] = services.list_users()
        assert (user.email, user.name, user.is_admin) == ("alice@example.com", "Alice", True)
        assert is_signed_in(client)
        assert not (settings.data_dir / "setup_token").exists()

    @pytest.mark.parametrize("wrong", ["", "wrong", "%00", "%ff"])
    def test_no_other_address_does(self, client: FlaskClient, token: str, wrong: str) -> None:
        assert client.get(f"/setup?token={wrong}").status_code in {400, 403}
        assert client.get("/setup").status_code == 403
        csrf_token = token_on(client.get(f"/setup?token={token}"))
        data = {"csrf_token": csrf_token, "token": wrong, "email": "alice@example.com", "password": PASSWORD}
        assert client.post("/setup", data=data).status_code == 403
        assert services.list_users() == []

    def test_a_request_never_makes_a_token(self, client: FlaskClient, settings: Settings, session) -> None:
        assert client.get("/setup?token=").status_code == 403
        assert not (settings.data_dir / "setup_token").exists()

    def test_what_is_wrong_is_said_and_the_token_is_kept(self, client: FlaskClient, token: str) -> None:
        answer = set_up(client, token, email="alice", password="password")
        assert answer.status_code == 422
        assert "@-sign" in answer.text
        assert "one of the most common" in answer.text
        assert 'value="alice"' in answer.text
        assert f'name="token" value="{token}"' in answer.text
        assert services.list_users() == []

    def test_it_is_gone_once_there_is_a_user(self, client: FlaskClient, token: str, make_user) -> None:
        csrf_token = token_on(client.get(f"/setup?token={token}"))
        make_user("bob@example.com")
        assert client.get(f"/setup?token={token}").status_code == 404
        answer = client.post(
            "/setup",
            data={
                "csrf_token": csrf_token,
                "token": token,
                "email": "alice@example.com",
                "password": PASSWORD,
            },
        )
        assert answer.location == "/login"
        assert [user.email for user in services.list_users()] == ["bob@example.com"]

    def test_of_two_at_once_one_makes_the_account(self, app: Flask, token: str) -> None:
        clients = [app.test_client() for _ in range(4)]
        forms = [token_on(client.get(f"/setup?token={token}")) for client in clients]

        def send(number: int) -> str | None:
            data = {
                "csrf_token": forms[number],
                "token": token,
                "email": f"{number}@example.com",
                "password": PASSWORD,
            }
            return clients[number].post("/setup", data=data).location

        assert sorted(at_once(send, range(4))) == ["/dashboard/", "/login", "/login", "/login"]
        assert [user.is_admin for user in services.list_users()] == [True]


def test_the_token_is_made_once_and_readable_by_its_owner_alone(data_dir: Path) -> None:
    token = setup.setup_token(data_dir)
    assert len(token) > 40
    assert setup.setup_token(data_dir) == token
    assert stat.S_IMODE((data_dir / "setup_token").stat().st_mode) == 0o600


def test_a_copied_token_is_closed_again(data_dir: Path) -> None:
    setup.setup_token(data_dir)
    (data_dir / "setup_token").chmod(0o644)
    setup.setup_token(data_dir)
    assert stat.S_IMODE((data_dir / "setup_token").stat().st_mode) == 0o600


def test_the_address_is_there_until_there_is_a_user(settings: Settings, session) -> None:
    token = setup.setup_token(settings.data_dir)
    assert setup.pending_address(settings) == f"http://127.0.0.1:8000/setup?token={token}"
    create_user("alice@example.com", PASSWORD)
    assert setup.pending_address(settings) is None
    assert not (settings.data_dir / "setup_token").exists()


@pytest.mark.settings(BASE_URL="https://go.example", DASHBOARD_URL="https://links.example")
def test_the_address_is_where_the_dashboard_is(settings: Settings, session) -> None:
    address = setup.pending_address(settings)
    assert address is not None
    assert address.startswith("https://links.example/setup?token=")


def test_without_a_token_file_nothing_is_right(settings: Settings, session) -> None:
    assert not setup.is_right(settings.data_dir, "")
    (settings.data_dir / "setup_token").write_text("")
    assert not setup.is_right(settings.data_dir, "")


def test_the_sign_in_says_where_to_begin_until_there_is_a_user(session, client: FlaskClient) -> None:
    def is_said() -> bool:
        return "Open the set-up address that Waypost printed" in client.get("/login").text

    assert is_said()
    create_user("alice@example.com", PASSWORD)
    assert not is_said()
