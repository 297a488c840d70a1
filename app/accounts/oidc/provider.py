"""The provider of single sign-on: discovery, the addresses of a sign-in, and the person whom it names.

Requests go by the connections of `app.net`, in the shape that Authlib's client expects. The operator names
the provider, so it may be in any network. One sign-in shares a deadline, and an answer is cut at MAX_BYTES.
What the provider says of itself is kept for an hour, and fetched again at a bounded rate.
"""

# see docs/decisions/2026-11-25-single-sign-on.md
from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from authlib.common.urls import add_params_to_uri
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.client import OAuth2Client

from app.accounts.oidc import tokens
from app.accounts.oidc.errors import InvalidToken, ProviderDown, ProviderRefused
from app.accounts.oidc.logout import LogoutNotice
from app.accounts.oidc.person import ProviderPerson, judges_email, merge_userinfo, person_of
from app.accounts.oidc.tokens import Keys
from app.accounts.oidc.used_values import SignInRequest
from app.core.config import Settings
from app.core.setting_values import WEB_SCHEMES
from app.net import http as net_http
from app.net.dial import Deadline
from app.net.http import EVERYWHERE, HttpResponse, NoAnswer

SIGN_IN_SECONDS = 8.0  # for all requests of one sign-in
MAX_BYTES = 512 * 1024
OK, TOO_MANY, SERVER_ERROR = 200, 429, 500


class ClientAuthentication(Protocol):
    """How Authlib adds the client's id and secret to a request."""

    def prepare(
        self, method: str, uri: str, headers: dict[str, str], body: str
    ) -> tuple[str, dict[str, str], str]: ...


@dataclass(frozen=True)
class ProviderAnswer:
    """An answer with the attributes that Authlib reads."""

    status_code: int
    content: bytes

    def json(self) -> Any:
        """Raises ValueError for what is no JSON."""
        try:
            return json.loads(self.content)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error

    def raise_for_status(self) -> None:
        raise ProviderDown(f"the answer has the status {self.status_code}")


class ProviderRequests:
    """The requests of one sign-in. Raises ProviderDown where there is no answer."""

    def __init__(self, seconds: float = SIGN_IN_SECONDS) -> None:
        self.deadline = Deadline(seconds)

    def post(
        self,
        url: str,
        data: Mapping[str, str],
        headers: Mapping[str, str],
        auth: ClientAuthentication,
    ) -> ProviderAnswer:
        """A request for a token, as Authlib sends it."""
        url, signed, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        return self.send("POST", url, signed, body.encode())

    def get_object(self, url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The JSON object at an address."""
        answer = self.send("GET", url, {"Accept": "application/json", **(headers or {})})
        try:
            found = answer.json() if answer.status_code == OK else None
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ProviderDown(f"{url} has the status {answer.status_code} or holds no JSON object")
        return found

    def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> ProviderAnswer:
        try:
            answer: HttpResponse = net_http.request(
                method,
                url,
                headers=headers,
                body=body,
                allowed=EVERYWHERE,
                seconds=self.deadline.left(),
                limit=MAX_BYTES,
            )
        except (NoAnswer, TimeoutError) as error:
            raise ProviderDown(f"{url}: {error}") from error
        if answer.status == TOO_MANY or answer.status >= SERVER_ERROR:
            raise ProviderDown(f"{url} has the status {answer.status}")
        return ProviderAnswer(answer.status, answer.body)


Document = TypeVar("Document")

FRESH_SECONDS = 3600.0
STALE_SECONDS = 24 * 3600.0  # used that long where the provider does not answer
RENEW_SECONDS = 30.0  # at most one fetch in this time, however many tokens name unknown keys
RETRY_SECONDS = 3.0  # after a failure: requests that come meanwhile get the same one, and wait for nothing


class CachedDocument(Generic[Document]):
    """One document for all threads of a process. One of them fetches it; the others wait for that fetch."""

    def __init__(self, fetch: Callable[[], Document]) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._value: Document | None = None
        self._fetched = self._tried = float("-inf")
        self._failure: ProviderDown | None = None

    def get(self) -> Document:
        """The document. Raises ProviderDown where there is none that is younger than a day."""
        with self._lock:
            if self._value is not None and self._age() < FRESH_SECONDS:
                return self._value
            return self._fetch_now(RETRY_SECONDS)

    def peek(self) -> Document | None:
        """The document if it is there. Waits for nothing."""
        return self._value

    def renew(self) -> Document:
        """The document as it is now, or as it was at most RENEW_SECONDS ago. Raises ProviderDown."""
        with self._lock:
            return self._fetch_now(RENEW_SECONDS)

    def _age(self) -> float:
        return time.monotonic() - self._fetched

    def _fetch_now(self, pause: float) -> Document:
        if time.monotonic() - self._tried >= pause:
            self._tried = time.monotonic()
            try:
                self._value, self._failure = self._fetch(), None
                self._fetched = time.monotonic()
            except ProviderDown as failure:
                self._failure = failure
                self._tried = time.monotonic()
        if self._value is not None and self._age() < STALE_SECONDS:
            return self._value
        raise self._failure or ProviderDown("nothing was fetched yet")


WELL_KNOWN = "/.well-known/openid-configuration"
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")
USED = (*NEEDED, "userinfo_endpoint")
BASIC, POST, NONE = "client_secret_basic", "client_secret_post", "none"


class Metadata(NamedTuple):
    """What the discovery document says, as far as it is used."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    auth_methods: tuple[str, ...]
    claims: tuple[str, ...]
    names_issuer: bool  # in its answers, by RFC 9207
    end_session_endpoint: str | None = None


class OidcProvider:
    """The provider that the settings name. One object for all threads of a process."""

    def __init__(self, settings: Settings) -> None:
        self.address = settings.oidc_issuer or ""
        self.client_id, self.secret = settings.oidc_client_id or "", settings.oidc_client_secret
        self.scopes, self.rules = settings.oidc_scopes, settings.oidc_roles
        self._metadata = CachedDocument(self._discover)
        self._keys = CachedDocument(self._fetch_keys)

    @property
    def issuer(self) -> str:
        """The issuer as identities store it: a slash at its end makes no difference to operators."""
        return self.address.rstrip("/")

    def _discover(self) -> Metadata:
        return read_metadata(self.issuer, ProviderRequests().get_object(self.issuer + WELL_KNOWN))

    def _fetch_keys(self) -> Keys:
        found = tokens.read_keys(ProviderRequests().get_object(self._metadata.get().jwks_uri))
        if not found:
            raise ProviderDown("the provider publishes no key that can be used")
        return found

    def sign_in_address(
        self, request: SignInRequest, redirect_uri: str, *, is_again: bool = False, language: str = ""
    ) -> str:
        """Where the browser goes to sign in. `is_again`: the provider must ask who is there."""
        asked = {"prompt": "login", "max_age": "0"} if is_again else {}
        client = self._client(ProviderRequests(), redirect_uri)
        address, _ = client.create_authorization_url(
            self._metadata.get().authorization_endpoint,
            state=request.state,
            code_verifier=request.verifier,
            nonce=request.nonce,
            **({"ui_locales": language} if language else {}),
            **asked,
        )
        return str(address)

    def finish(self, request: SignInRequest, params: Mapping[str, str], redirect_uri: str) -> ProviderPerson:
        """The person who has signed in. Raises OidcError. `params`: of the provider's answer."""
        metadata = self._metadata.get()
        issuer = params.get("iss", metadata.issuer if not metadata.names_issuer else "")
        if issuer != metadata.issuer:
            raise InvalidToken("the answer is another issuer's")
        if "error" in params or not params.get("code"):
            raise ProviderRefused(params.get("error", "no code")[:64])
        requests = ProviderRequests()
        answer = self._redeem(requests, request, params["code"], redirect_uri)
        access_token = str(answer.get("access_token") or "")
        token = tokens.verify(answer.get("id_token"), self._keys.get(), self._keys.renew)
        claims = tokens.check_id_token(
            token,
            issuer=metadata.issuer,
            client_id=self.client_id,
            nonce=request.nonce,
            access_token=access_token,
        )
        return person_of(self._with_userinfo(requests, claims, access_token), self.issuer, self.rules)

    def _redeem(
        self, requests: ProviderRequests, request: SignInRequest, code: str, redirect_uri: str
    ) -> Mapping[str, Any]:
        """The tokens for a code."""
        client = self._client(requests, redirect_uri)
        try:
            found: Mapping[str, Any] = client.fetch_token(
                self._metadata.get().token_endpoint,
                grant_type="authorization_code",
                code=code,
                code_verifier=request.verifier,
            )
        except OAuth2Error as error:
            raise ProviderRefused(str(error.error)[:64]) from error
        except (ValueError, TypeError) as error:
            raise ProviderDown("the token endpoint sends no JSON object") from error
        return found

    def _with_userinfo(
        self, requests: ProviderRequests, claims: Mapping[str, Any], access_token: str
    ) -> Mapping[str, Any]:
        """The claims, and those of the userinfo endpoint where the ID token lacks some that are needed."""
        address = self._metadata.get().userinfo_endpoint
        needed = {rule.claim.split(".")[0] for rule in self.rules if rule.claim not in claims}
        is_complete = needed <= set(claims) and judges_email(claims, self.issuer)
        if not address or not access_token or is_complete:
            return claims
        more = requests.get_object(address, {"Authorization": f"Bearer {access_token}"})
        if more.get("sub") != claims["sub"]:
            raise InvalidToken("userinfo is another subject's")
        return merge_userinfo(claims, more, self.issuer)

    def read_logout_token(self, token: object) -> LogoutNotice:
        """What a logout token ends. Raises OidcError."""
        verified = tokens.verify(token, self._keys.get(), self._keys.renew)
        return tokens.check_logout_token(
            verified, issuer=self._metadata.get().issuer, client_id=self.client_id
        )

    def sign_out_address(self, return_to: str) -> str | None:
        """Where the browser goes to sign out at the provider, too; None where it offers no such page.

        `return_to`: the page after that, which the operator has registered there. Raises OidcError.
        """
        endpoint = self._metadata.get().end_session_endpoint
        if endpoint is None:
            return None
        # without the ID token, which is not kept: so the provider asks before it signs anybody out
        params = {"client_id": self.client_id, "post_logout_redirect_uri": return_to}
        address: str = add_params_to_uri(endpoint, params)
        return address

    def may_offer_sign_out(self) -> bool:
        """Whether the provider offers such a page, as far as that is known without asking it."""
        known = self._metadata.peek()
        return known is None or known.end_session_endpoint is not None

    def check(self) -> None:
        """Fetches what a sign-in needs. Raises ProviderDown, with what is wrong."""
        self._metadata.get()
        self._keys.get()

    def tells_auth_time(self) -> bool:
        """Whether the provider says that it tells when somebody signed in there."""
        return "auth_time" in self._metadata.get().claims

    def _client(self, requests: ProviderRequests, redirect_uri: str) -> OAuth2Client:
        return OAuth2Client(
            requests,
            client_id=self.client_id,
            client_secret=self.secret,
            token_endpoint_auth_method=self._auth_method(),
            scope=self.scopes,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
        )

    def _auth_method(self) -> str:
        """How the client proves itself. Basic is the default of the standard, where a secret with special
        characters is escaped by some providers and not by others: those go into the body where they can."""
        if not self.secret:
            return NONE
        offered = self._metadata.get().auth_methods
        is_plain = (
            quote(self.secret, safe="") == self.secret and quote(self.client_id, safe="") == self.client_id
        )
        return BASIC if BASIC in offered and (is_plain or POST not in offered) else POST


def read_metadata(issuer: str, document: Mapping[str, Any]) -> Metadata:
    """Checks a discovery document. Raises ProviderDown for one of another issuer, or without an address."""
    named = document.get("issuer")
    if not isinstance(named, str) or named.rstrip("/") != issuer:
        raise ProviderDown(f"the discovery document is of another issuer, {named!r:.200}")
    addresses: dict[str, Any] = {name: document.get(name) for name in USED}
    is_secure, end_session = issuer.startswith("https://"), document.get("end_session_endpoint")
    for name, address in addresses.items():
        is_missing = address is None and name not in NEEDED
        if not is_missing and not is_address(address, is_secure=is_secure):
            raise ProviderDown(f"the discovery document has no {name} that can be used")
    return Metadata(
        issuer=named,
        **addresses,
        auth_methods=texts(document.get("token_endpoint_auth_methods_supported")) or (BASIC,),
        claims=texts(document.get("claims_supported")),
        names_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        end_session_endpoint=end_session if is_address(end_session, is_secure=is_secure) else None,
    )


def is_address(address: object, *, is_secure: bool) -> bool:
    """Whether this is an http(s) address; an https one where the issuer has one."""
    if not isinstance(address, str) or not address.isprintable():
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return bool(parts.hostname) and parts.scheme in ({"https"} if is_secure else WEB_SCHEMES)


def texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
