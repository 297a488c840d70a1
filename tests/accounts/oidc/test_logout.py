"""Back-channel logout: what ends sessions, and what does not."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from flask import Flask
from sqlalchemy import select
from werkzeug.test import TestResponse

from app.accounts.models import User
from app.accounts.oidc.provider import CachedDocument
from app.accounts.oidc.tokens import LOGOUT_EVENT
from app.audit.models import AuditEntry
from app.core.extensions import db
from tests.accounts.oidc.conftest import Visit
from tests.accounts.oidc.scripted_provider import CLIENT, ScriptedProvider
from tests.accounts.oidc.test_sign_in import tie
from tests.dashboard.conftest import Desk


def send(visit: Visit, token: str) -> TestResponse:
    """As the provider's server sends it: without a cookie."""
    other = visit.client.application.test_client()
    return other.post("/login/oidc/logout", data={"logout_token": token})


@pytest.fixture
def signed_in(alice: User, visit: Visit, provider: ScriptedProvider) -> Visit:
    tie(alice, provider)
    visit.sign_in()
    assert visit.is_signed_in()
    return visit


def forget_document(app: Flask) -> None:
    """As after a restart of the process."""
    provider = app.extensions["oidc"]
    provider._metadata = CachedDocument(provider._discover)


ENDS: dict[str, dict[str, Any]] = {
    "subject and session": {},
    "the subject alone": {"sid": None},
    "the session alone": {"sub": None},
    "without an end, as drafts had it": {"exp": None},
}


@pytest.mark.parametrize("name", ENDS)
def test_ends_the_session_at_once(signed_in: Visit, provider: ScriptedProvider, name: str) -> None:
    answer = send(signed_in, provider.logout_token(**ENDS[name]))
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert not signed_in.is_signed_in()
    entry = db.session.scalars(select(AuditEntry).where(AuditEntry.action == "session.ended")).one()
    assert (entry.changes, entry.count) == ({"reason": "provider"}, 1)


REFUSED: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://id.example"},
    "another audience": {"aud": "another"},
    "expired": {"exp": int(time.time()) - 120},
    "made long ago": {"iat": int(time.time()) - 3600},
    "without a time": {"iat": None},
    "without an id": {"jti": None},
    "with a nonce: an ID token": {"nonce": "x"},
    "of no event": {"events": None},
    "of another event": {"events": {"https://example.com/event": {}}},
    "of an event that is no object": {"events": {LOGOUT_EVENT: True}},
    "of nobody": {"sub": None, "sid": None},
    "of a subject that is a list": {"sub": ["alice-1"]},
}
FORGED = ("sign_with_nothing", "sign_with_public_key", "sign_with_another_key", "sign_and_change")


def test_ends_nothing(signed_in: Visit, provider: ScriptedProvider) -> None:
    for name in (*REFUSED, *FORGED):
        provider.sign = getattr(provider, name if name in FORGED else "sign_well")
        answer = send(signed_in, provider.logout_token(**REFUSED.get(name, {})))
        assert (answer.status_code, answer.json) == (400, {"error": "invalid_request"}), name
        assert signed_in.is_signed_in(), name


def test_what_is_no_token(signed_in: Visit) -> None:
    for body in ({}, {"logout_token": ""}, {"logout_token": "a.b.c"}, {"logout_token": "x" * 40_000}):
        answer = signed_in.client.application.test_client().post("/login/oidc/logout", data=body)
        assert answer.status_code == 400
        assert signed_in.is_signed_in()


@pytest.mark.databases
def test_a_token_works_once(signed_in: Visit, provider: ScriptedProvider) -> None:
    token = provider.logout_token()
    assert send(signed_in, token).status_code == 200
    signed_in.sign_in()
    assert send(signed_in, token).status_code == 400
    assert signed_in.is_signed_in()


def test_other_sessions_stay(signed_in: Visit, alice: User, provider: ScriptedProvider) -> None:
    with_password = Desk(signed_in.client.application.test_client(), alice.email).sign_in()
    provider.sid = "session-2"
    elsewhere = Visit(signed_in.client.application.test_client(), provider)
    elsewhere.sign_in()
    assert send(signed_in, provider.logout_token(sid="session-1")).status_code == 200
    assert not signed_in.is_signed_in()
    assert elsewhere.is_signed_in()
    assert send(signed_in, provider.logout_token(sid=None)).status_code == 200
    assert not elsewhere.is_signed_in()
    assert with_password.get("/account/").status_code == 200, "that one is not the provider's"


def test_tokens_that_are_refused_are_limited(signed_in: Visit) -> None:
    statuses = [send(signed_in, f"a.b.{n}").status_code for n in range(61)]
    assert statuses == [400] * 60 + [429]


class TestSigningOutThere:
    """RP-initiated logout: whoever has signed in by the provider is offered to sign out there, too."""

    PAGE = "/login/oidc/sign-out"

    def test_it_is_offered_and_leads_there(
        self, signed_in: Visit, provider: ScriptedProvider, app: Flask
    ) -> None:
        end = f"{provider.url}/end?realm=x"
        provider.document = {"end_session_endpoint": end}
        forget_document(app)
        answer = signed_in.post("/logout", "/logout")
        assert not signed_in.is_signed_in()
        assert f'href="{self.PAGE}"' in signed_in.notice(answer)
        there = signed_in.begin(self.PAGE)
        assert there.startswith(f"{end}&")
        asked = dict(parse_qsl(urlsplit(there).query))
        assert asked == {
            "realm": "x",
            "client_id": CLIENT,
            "post_logout_redirect_uri": "http://localhost/login",
        }

    def test_not_after_a_password(self, alice: User, visit: Visit) -> None:
        Desk(visit.client, alice.email).sign_in()
        assert self.PAGE not in visit.notice(visit.post("/logout", "/logout"))

    @pytest.mark.parametrize("endpoint", [None, "javascript:alert(1)", "//x", 7])
    def test_not_where_the_provider_names_none(
        self, signed_in: Visit, provider: ScriptedProvider, app: Flask, endpoint: object
    ) -> None:
        provider.document = {"end_session_endpoint": endpoint}
        forget_document(app)
        signed_in.post("/logout", "/logout")
        assert signed_in.begin(self.PAGE) == "/login"
        assert "Sign out on its own pages" in signed_in.client.get("/login").text
        signed_in.sign_in()
        assert self.PAGE not in signed_in.notice(signed_in.post("/logout", "/logout"))

    def test_a_provider_that_is_down(self, signed_in: Visit, provider: ScriptedProvider, app: Flask) -> None:
        forget_document(app)
        provider.is_down = True
        assert signed_in.post("/logout", "/logout").status_code == 303
        assert not signed_in.is_signed_in()
        assert signed_in.begin(self.PAGE) == "/login"
