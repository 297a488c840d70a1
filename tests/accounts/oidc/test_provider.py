"""The provider's documents: discovery, keys that change, and a provider that is down."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from app.accounts.models import User
from app.accounts.oidc import provider as cached_document
from app.accounts.oidc.person import verified_email
from app.core.config import Settings
from tests.accounts.oidc.conftest import Visit
from tests.accounts.oidc.scripted_provider import ScriptedProvider
from tests.accounts.oidc.test_sign_in import tie
from tests.notifications.peers import Peers

DISCOVERY = "/.well-known/openid-configuration"
DOWN = "does not answer as it should"

DOCUMENTS: dict[str, dict[str, Any]] = {
    "of another issuer": {"issuer": "https://id.example"},
    "of no issuer": {"issuer": None},
    "without keys": {"jwks_uri": None},
    "without a token endpoint": {"token_endpoint": None},
    "with a script for an address": {"authorization_endpoint": "javascript:alert(1)"},
    "with a file for an address": {"token_endpoint": "file:///etc/passwd"},
    "with a number for an address": {"jwks_uri": 7},
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_can_not_be_used(
    alice: User, visit: Visit, provider: ScriptedProvider, name: str
) -> None:
    provider.document = DOCUMENTS[name]
    address = visit.begin()
    assert address == "/login"
    assert DOWN in visit.client.get(address).text


def test_new_keys_are_found(
    alice: User, visit: Visit, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    tie(alice, provider)
    assert visit.sign_in().location == "/dashboard/"
    visit.post("/logout", "/logout")
    provider.rotate()
    monkeypatch.setattr(cached_document, "RENEW_SECONDS", 0.0)
    assert visit.sign_in().location == "/dashboard/"
    assert provider.counts["/jwks"] == 2


def test_unknown_keys_do_not_make_many_requests(
    alice: User, visit: Visit, provider: ScriptedProvider
) -> None:
    tie(alice, provider)
    provider.header = {"kid": "unknown"}
    for _ in range(5):
        assert visit.sign_in().location == "/login"
    assert provider.counts["/jwks"] == 1


class TestDown:
    def test_the_sign_in_page_does_not_ask_it(
        self, alice: User, visit: Visit, provider: ScriptedProvider
    ) -> None:
        provider.is_down = True
        page = visit.client.get("/login")
        assert page.status_code == 200
        assert "Continue with single sign-on" in page.text
        assert provider.counts == {}

    def test_is_said_in_words_and_sessions_go_on(
        self, alice: User, visit: Visit, provider: ScriptedProvider
    ) -> None:
        tie(alice, provider)
        visit.sign_in()
        provider.is_down = True
        assert visit.is_signed_in()
        other = Visit(visit.client.application.test_client(), provider)
        address = provider.authorize(other.begin(next="/dashboard/keys/"))
        answer = other.come_back(address)
        assert answer.location == "/login?next=/dashboard/keys/"
        assert DOWN in other.notice(answer)
        assert "/dashboard/keys/" in other.client.get(answer.location).text, "the page after it is kept"

    def test_is_asked_again_only_after_a_pause(
        self, alice: User, visit: Visit, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        provider.is_down = True
        for _ in range(5):
            assert visit.begin() == "/login"
        assert provider.counts == {DISCOVERY: 1}
        provider.is_down = False
        monkeypatch.setattr(cached_document, "RETRY_SECONDS", 0.0)
        assert visit.begin().startswith(provider.url)

    def test_a_silent_one_costs_a_bounded_time(
        self, app: Any, settings: Settings, peers: Peers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from app.accounts.oidc import provider as http
        from app.accounts.oidc.provider import OidcProvider
        from app.accounts.oidc.used_values import SignInRequest

        monkeypatch.setattr(http.ProviderRequests.__init__, "__defaults__", (0.3,))
        silent = dataclasses.replace(settings, oidc_issuer=peers.serve(peers.hangs).url)
        with pytest.raises(http.ProviderDown) as caught:
            OidcProvider(silent).sign_in_address(SignInRequest.draw(), "http://localhost/")
        assert "did not answer in time" in caught.value.detail

    @pytest.mark.parametrize("body", [b"[]", b"{", b"\xff", b"[" * 100_000, b"x" * 2_000_000])
    def test_what_is_no_document(self, settings: Settings, peers: Peers, body: bytes) -> None:
        from app.accounts.oidc import provider as http
        from app.accounts.oidc.provider import OidcProvider
        from app.accounts.oidc.used_values import SignInRequest

        head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body)
        odd = dataclasses.replace(settings, oidc_issuer=peers.serve(peers.says(head, body)).url)
        with pytest.raises(http.ProviderDown):
            OidcProvider(odd).sign_in_address(SignInRequest.draw(), "http://localhost/")


class TestAnAnswerThatNamesItsIssuer:
    """RFC 9207: an answer of another provider is none of this one's."""

    def test_of_another(self, alice: User, visit: Visit, provider: ScriptedProvider) -> None:
        tie(alice, provider)
        address = provider.authorize(visit.begin())
        assert "could not be verified" in visit.notice(visit.come_back(f"{address}&iss=https://id.example"))

    def test_is_required_where_it_is_promised(
        self, alice: User, visit: Visit, provider: ScriptedProvider
    ) -> None:
        tie(alice, provider)
        provider.document = {"authorization_response_iss_parameter_supported": True}
        address = provider.authorize(visit.begin())
        assert visit.come_back(address).location == "/login"
        address = provider.authorize(visit.begin())
        assert visit.come_back(f"{address}&iss={provider.url}").location == "/dashboard/"


@pytest.mark.settings(OIDC_CLIENT_SECRET="wrong")
def test_a_wrong_secret_of_the_client(alice: User, visit: Visit, provider: ScriptedProvider) -> None:
    tie(alice, provider)
    assert "did not sign you in" in visit.notice(visit.sign_in())


@pytest.mark.parametrize(
    ("issuer", "claims", "is_verified"),
    [
        ("https://id.example", {"email_verified": "true"}, True),
        ("https://id.example", {"email_verified": "false"}, False),
        ("https://id.example", {"xms_edov": True}, False),
        ("https://login.microsoftonline.com/t/v2.0", {"xms_edov": True}, True),
        ("https://login.microsoftonline.com/t/v2.0", {"xms_edov": "1"}, True),
        ("https://login.microsoftonline.com/t/v2.0", {}, False),
        ("https://login.microsoftonline.com/t/v2.0", {"xms_edov": 1, "email_verified": False}, False),
        ("https://login.microsoftonline.com.evil.example/t", {"xms_edov": 1}, False),
    ],
)
def test_how_an_address_is_confirmed(issuer: str, claims: dict[str, Any], is_verified: bool) -> None:
    from app.accounts.oidc.errors import UnverifiedEmail

    told = {"email": "A@example.com", **claims}
    if is_verified:
        assert verified_email(told, issuer) == "a@example.com"
    else:
        with pytest.raises(UnverifiedEmail):
            verified_email(told, issuer)
