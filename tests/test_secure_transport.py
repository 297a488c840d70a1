"""HTTPS: HSTS on every answer, cookie name prefixes, and cleared site data at sign-out."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.accounts.models import User
from app.accounts.passwords import hash_password
from app.redirects.context import RedirectContext
from app.redirects.wsgi import Front
from tests.accounts.test_sign_in import is_signed_in, sign_in, token_on
from tests.dashboard.conftest import HTMX
from tests.factories import PASSWORD, Factory
from tests.server import BROWSER

HTTPS = {"wsgi.url_scheme": "https"}
HSTS = "max-age=31536000"
PATHS = {
    "a redirect": ("/plain", 302),
    "a redirect that is looked at": ("/targeted", 302),
    "a gate": ("/locked", 200),
    "no link": ("/nothing", 404),
    "the sign-in": ("/login", 200),
    "the dashboard": ("/dashboard/", 302),
    "the API": ("/api/links", 401),
    "a file": ("/static/icon.svg", 200),
    "health": ("/healthz", 200),
    "a method that is none": ("/api/nothing", 401),
}


@pytest.fixture
def served(app: Flask, alice: User, factory: Factory) -> FlaskClient:
    """The application behind its redirect front, with three links."""
    factory.link(alice, "plain")
    pairs = [["desktop", "https://example.com/desktop"]]
    factory.link(alice, "targeted", targeting_type="device_type", targeting=pairs)
    factory.link(alice, "locked", password_hash=hash_password("open sesame"), password_version=1)
    redirect_context: RedirectContext = app.extensions["redirects"]
    app.wsgi_app = Front(app.wsgi_app, redirect_context)  # type: ignore[method-assign]
    return app.test_client()


@pytest.mark.parametrize(("path", "status"), PATHS.values(), ids=PATHS)
def test_every_answer_by_https_says_so(served: FlaskClient, path: str, status: int) -> None:
    for environ, header in (({}, None), (HTTPS, HSTS)):
        answer = served.get(path, headers={"User-Agent": BROWSER}, environ_overrides=environ)
        assert (answer.status_code, answer.headers.get("Strict-Transport-Security")) == (status, header)


@pytest.mark.settings(TRUSTED_PROXIES="1")
@pytest.mark.parametrize(("path", "status"), PATHS.values(), ids=PATHS)
def test_so_it_does_behind_a_proxy_that_says_https(served: FlaskClient, path: str, status: int) -> None:
    for said, header in (("https", HSTS), ("http", None), ("https, http", None), ("http, https", HSTS)):
        answer = served.get(path, headers={"User-Agent": BROWSER, "X-Forwarded-Proto": said})
        assert (answer.status_code, answer.headers.get("Strict-Transport-Security")) == (status, header)


def test_a_visitor_can_not_say_so(served: FlaskClient) -> None:
    for path in ("/plain", "/login"):
        answer = served.get(path, headers={"User-Agent": BROWSER, "X-Forwarded-Proto": "https"})
        assert "Strict-Transport-Security" not in answer.headers


# -------------------------------------------------------------------------- cookies


def names_of(answer: Any) -> list[str]:
    return [line.partition("=")[0] for line in answer.headers.getlist("Set-Cookie")]


class TestCookies:
    def test_of_a_gate(self, served: FlaskClient) -> None:
        for environ, name in (({}, "waypost_password"), (HTTPS, "__Secure-waypost_password")):
            sent = {"data": {"password": "open sesame"}, "headers": {"User-Agent": BROWSER}}
            answer = served.post("/locked", **sent, environ_overrides=environ)
            assert (answer.status_code, names_of(answer)) == (303, [name])
            assert ("Secure" in answer.headers["Set-Cookie"].split("; ")) == bool(environ)
            base = "https://localhost" if environ else "http://localhost"
            again = served.get("/locked", base_url=base, headers={"User-Agent": BROWSER})
            assert again.status_code == 302

    def test_of_a_gate_by_http_opens_nothing_by_https(self, served: FlaskClient) -> None:
        headers = {"User-Agent": BROWSER}
        answer = served.post("/locked", data={"password": "open sesame"}, headers=headers)
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        for environ, status in (({}, 302), (HTTPS, 200)):
            sent = {**headers, "Cookie": cookie}
            assert served.get("/locked", headers=sent, environ_overrides=environ).status_code == status

    def test_of_the_colours(self, client: FlaskClient, alice: User) -> None:
        for environ, name in (({}, "waypost_theme"), (HTTPS, "__Host-waypost_theme")):
            page = client.get("/login", environ_overrides=environ)
            data = {"csrf_token": token_on(page), "theme": "dark", "back": "/login"}
            base = "https://localhost" if environ else "http://localhost"
            answer = client.post("/dashboard/theme", data=data, base_url=base)
            assert name in names_of(answer)
            assert 'data-theme="dark"' in client.get("/login", base_url=base).text

    def test_all_have_a_prefix_on_https(self, client: FlaskClient, alice: User) -> None:
        answer = sign_in(client, environ=HTTPS)
        assert sorted(names_of(answer)) == ["__Host-waypost", "__Host-waypost_browser"]
        for line in answer.headers.getlist("Set-Cookie"):
            assert {"Secure", "HttpOnly", "Path=/"} <= set(line.split("; "))
            assert "Domain" not in line


# -------------------------------------------------------------------------- sign-out


class TestSigningOut:
    def sign_out(self, client: FlaskClient, base: str) -> Any:
        token = token_on(client.get("/logout", base_url=base))
        return client.post("/logout", data={"csrf_token": token}, base_url=base)

    def test_the_browser_forgets_what_it_has_kept(self, client: FlaskClient, alice: User) -> None:
        sign_in(client, environ=HTTPS)
        answer = self.sign_out(client, "https://localhost")
        assert (answer.status_code, answer.headers["Clear-Site-Data"]) == (303, '"cache", "storage"')
        assert not is_signed_in(client, base_url="https://localhost")

    def test_by_http_where_no_browser_heeds_it_nothing_is_said(
        self, client: FlaskClient, alice: User
    ) -> None:
        sign_in(client)
        assert "Clear-Site-Data" not in self.sign_out(client, "http://localhost").headers

    @pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "dialog"])
    def test_so_it_does_when_the_account_is_deleted(
        self, client: FlaskClient, alice: User, headers: dict[str, str]
    ) -> None:
        base = "https://localhost"
        sign_in(client, environ=HTTPS)
        token = token_on(client.get("/dashboard/account/", base_url=base))
        sent = {"csrf_token": token, "own_email": alice.email, "own_password": PASSWORD}
        answer = client.post("/dashboard/account/delete", data=sent, base_url=base, headers=headers)
        assert answer.headers["Clear-Site-Data"] == '"cache", "storage"'


def test_nothing_is_forgotten_at_any_other_write(client: FlaskClient, alice: User) -> None:
    sign_in(client, environ=HTTPS)
    answer = client.get("/dashboard/account/", base_url="https://localhost")
    assert "Clear-Site-Data" not in answer.headers
