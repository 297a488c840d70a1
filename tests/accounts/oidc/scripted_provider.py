"""An OpenID Connect provider on the loopback interface that can be told to do each thing wrong.

It keeps to the protocol (codes work once, PKCE is checked, clients prove who they are) save where a test says
otherwise. Who is signed in there is `person`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc import jwk, jwt

CLIENT, SECRET = "waypost", "a secret of the provider"
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
ALICE = {"sub": "alice-1", "email": "alice@example.com", "email_verified": True, "name": "Alice"}

Sign = Callable[[dict[str, Any], dict[str, Any]], str]


class ScriptedProvider:
    """`claims` and `header` replace those of the next tokens, None leaves one out; `document` those of the
    discovery document; `userinfo` is what that endpoint says. `asked` holds the authorization requests."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = dict(ALICE)
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.document: dict[str, Any] = {}
        self.userinfo: dict[str, Any] | None = None
        self.sign: Sign = self.sign_well
        self.error: str | None = None
        self.is_down = False
        self.asked: list[dict[str, str]] = []
        self.counts: dict[str, int] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: dict[str, dict[str, Any]] = {}
        self.auth_time: int | None = None  # None: now
        self.sid = "session-1"
        self.keys: list[jwk.RSAKey] = []
        self.rotations = 0
        self.rotate()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))

    def rotate(self) -> None:
        """A new key signs; the old one is not published any more."""
        self.rotations += 1
        self.keys = [make_key(self.rotations)]

    def authorize(self, address: str) -> str:
        """What a browser that opens this address is redirected to, by a person who is signed in here."""
        asked = dict(parse_qsl(urlsplit(address).query))
        self.asked.append(asked)
        answer = {"state": asked["state"]}
        if self.error:
            answer["error"] = self.error
        else:
            answer["code"] = uuid.uuid4().hex
            self.codes[answer["code"]] = asked
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        expected = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        is_client = authorization == f"Basic {expected}" or form.get("client_secret") == SECRET
        asked = self.codes.pop(form.get("code", ""), None)
        if not is_client:
            return 401, {"error": "invalid_client"}
        if asked is None or not is_verified(asked, form) or form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        access_token = uuid.uuid4().hex
        self.tokens[access_token] = self.person
        found = {"access_token": access_token, "token_type": "Bearer", "expires_in": 60}
        return 200, {**found, "id_token": self.id_token(asked)}

    def id_token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": asked.get("nonce"),
            "auth_time": self.auth_time or now,
            "sid": self.sid,
            **self.person,
            **self.claims,
        }
        return self.sign(self.header, {name: value for name, value in claims.items() if value is not None})

    def logout_token(self, **changes: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 120,
            "jti": uuid.uuid4().hex,
            "sub": self.person["sub"],
            "sid": self.sid,
            "events": {LOGOUT_EVENT: {}},
            **changes,
        }
        told = {name: value for name, value in claims.items() if value is not None}
        return self.sign({"typ": "logout+jwt", **self.header}, told)

    def sign_well(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        key = self.keys[0]
        return jwt.encode({"alg": "RS256", "kid": key.kid, **header}, claims, key, algorithms=["RS256"])

    def sign_with_nothing(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        """`alg: none`."""
        return f"{encode({'alg': 'none', 'kid': self.keys[0].kid, **header})}.{encode(claims)}."

    def sign_with_public_key(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        """HS256, with the public key that everybody can read as the secret."""
        head = {"alg": "HS256", "kid": self.keys[0].kid, **header}
        signed = f"{encode(head)}.{encode(claims)}"
        found = hmac.digest(self.keys[0].as_pem(private=False), signed.encode(), "sha256")
        return f"{signed}.{base64.urlsafe_b64encode(found).decode().rstrip('=')}"

    def sign_with_another_key(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        """A key of somebody else under the provider's own id."""
        key = make_key(0)
        head = {"alg": "RS256", "kid": self.keys[0].kid, **header}
        return jwt.encode(head, claims, key, algorithms=["RS256"])

    def sign_and_change(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        """Another subject under the signature of the first."""
        head, _, signature = self.sign_well(header, claims).split(".")
        return ".".join([head, encode({**claims, "sub": "mallory"}), signature])

    def answer(self, method: str, path: str, form: dict[str, str], headers: Any) -> tuple[int, Any]:
        self.counts[path] = self.counts.get(path, 0) + 1
        if self.is_down:
            return 503, {"error": "temporarily_unavailable"}
        if path == "/.well-known/openid-configuration":
            return 200, self.discovery()
        if path == "/jwks":
            return 200, {"keys": [key.as_dict(private=False) for key in self.keys]}
        if path == "/token" and method == "POST":
            return self.token(form, headers.get("Authorization", ""))
        if path == "/userinfo" and self.userinfo is not None:
            known = headers.get("Authorization", "").removeprefix("Bearer ") in self.tokens
            return (200, self.userinfo) if known else (401, {"error": "invalid_token"})
        return 404, {"error": "not_found"}

    def discovery(self) -> dict[str, Any]:
        document = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "userinfo_endpoint": f"{self.url}/userinfo" if self.userinfo is not None else None,
            "claims_supported": ["sub", "auth_time", "sid"],
            **self.document,
        }
        return {name: value for name, value in document.items() if value is not None}

    def handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if urlsplit(self.path).path == "/authorize":
                    self.send_response(303)
                    self.send_header("Location", provider.authorize(self.path))
                    self.end_headers()
                    return
                self.reply("GET", {})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                self.reply("POST", {name: values[-1] for name, values in parse_qs(body).items()})

            def reply(self, method: str, form: dict[str, str]) -> None:
                status, found = provider.answer(method, urlsplit(self.path).path, form, self.headers)
                content = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def encode(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@cache
def make_key(number: int) -> jwk.RSAKey:
    """A key for tests: making one takes long."""
    return jwk.RSAKey.generate_key(2048, {"kid": f"key-{number}", "use": "sig"})


def is_verified(asked: dict[str, str], form: dict[str, str]) -> bool:
    """Whether the verifier fits the challenge (PKCE, S256 alone)."""
    digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return asked.get("code_challenge_method") == "S256" and asked.get("code_challenge") == challenge


@contextmanager
def scripted_provider() -> Iterator[ScriptedProvider]:
    provider = ScriptedProvider()
    provider.thread.start()
    try:
        yield provider
    finally:
        provider.server.shutdown()
        provider.thread.join(30)
        provider.server.server_close()
