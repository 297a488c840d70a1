"""Checks of the provider's tokens: ID tokens of sign-ins, and logout tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from authlib.oidc.core import CodeIDToken
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey, import_key

from app.accounts.oidc.errors import InvalidToken
from app.accounts.oidc.logout import MAX_LOGOUT_AGE, LogoutNotice

# signatures with the provider's private key alone: neither `none`, nor an HMAC with something that is public
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "ES256K", "EdDSA", "Ed25519"),
)
KEY_TYPES = {"RSA", "EC", "OKP"}
MAX_KEYS = 50
MAX_TOKEN = 32_000  # characters
LEEWAY_SECONDS = 60  # clocks differ
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
MAX_TEXT = 255

SigningKey = RSAKey | ECKey | OKPKey
Keys = Sequence[SigningKey]


def read_keys(document: Mapping[str, Any]) -> Keys:
    """The keys of a JWKS document that can verify a signature. Others are left out."""
    listed = document.get("keys")
    found: list[SigningKey] = []
    for one in listed[:MAX_KEYS] if isinstance(listed, list) else ():
        if not isinstance(one, dict) or one.get("kty") not in KEY_TYPES or one.get("use", "sig") != "sig":
            continue
        try:
            key = import_key(one)
        except (JoseError, ValueError, TypeError, KeyError):
            continue
        if isinstance(key, SigningKey):
            found.append(key)
    return found


def verify(token: object, keys: Keys, renew: Callable[[], Keys]) -> jwt.Token:
    """A token whose signature is right. `renew` is called where its key is not known. Raises InvalidToken."""
    if not isinstance(token, str) or len(token) > MAX_TOKEN:
        raise InvalidToken("the token is missing or too long")
    try:
        header = jws.extract_compact(token.encode()).headers()
    except (JoseError, ValueError, TypeError) as error:
        raise InvalidToken(f"it is no signed token: {type(error).__name__}") from error
    if header.get("alg") not in ALGORITHMS:
        raise InvalidToken("its algorithm is not allowed")
    kid = header.get("kid")
    candidates = named(keys, kid) or named(renew(), kid)
    for key in candidates:
        try:
            registry = jws.JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
            return jwt.decode(token, key, algorithms=ALGORITHMS, registry=registry)
        except (JoseError, ValueError, TypeError):
            continue
    raise InvalidToken("its signature is wrong" if candidates else "its key is not the provider's")


def named(keys: Keys, kid: object) -> Keys:
    """The keys with this id; all of them for a token that names none."""
    return [key for key in keys if kid is None or key.get("kid") == kid]


def check_id_token(
    token: jwt.Token, *, issuer: str, client_id: str, nonce: str, access_token: str
) -> Mapping[str, Any]:
    """The claims of an ID token that is for this client, this sign-in and now. Raises InvalidToken."""
    expected = {"iss": issuer, "aud": client_id, "nonce": nonce}
    claims = CodeIDToken(
        token.claims,
        token.header,
        options={name: {"essential": True, "value": value} for name, value in expected.items()},
        params={"client_id": client_id, "nonce": nonce, "access_token": access_token},
    )
    try:
        claims.validate(now=int(time.time()), leeway=LEEWAY_SECONDS)
    except (JoseError, ValueError, TypeError) as error:
        raise InvalidToken(describe(error)) from error
    require_text(claims.get("sub"), "sub")
    return dict(claims)


def check_logout_token(token: jwt.Token, *, issuer: str, client_id: str) -> LogoutNotice:
    """What a logout token for this client ends, as "OpenID Connect Back-Channel Logout 1.0" says.

    One without `exp`, which earlier drafts allowed, is taken for as long as it is new. Raises InvalidToken.
    """
    claims = token.claims
    registry = jwt.JWTClaimsRegistry(
        now=int(time.time()),
        leeway=LEEWAY_SECONDS,
        iss={"essential": True, "value": issuer},
        aud={"essential": True, "value": client_id},
        iat={"essential": True},
        jti={"essential": True},
        events={"essential": True},
    )
    try:
        registry.validate(claims)
    except (JoseError, ValueError, TypeError) as error:
        raise InvalidToken(describe(error)) from error
    if claims["iat"] < time.time() - MAX_LOGOUT_AGE.total_seconds():
        raise InvalidToken("the claim iat is too old")
    if token.header.get("typ", "JWT").lower().removeprefix("application/") not in {"logout+jwt", "jwt"}:
        raise InvalidToken("it is of another type")
    events = claims["events"]
    if not isinstance(events, dict) or not isinstance(events.get(LOGOUT_EVENT), dict) or "nonce" in claims:
        raise InvalidToken("it is no logout token")
    subject, sid = (require_text(claims[name], name) if name in claims else "" for name in ("sub", "sid"))
    if not subject and not sid:
        raise InvalidToken("it names neither a subject nor a session")
    return LogoutNotice(require_text(claims["jti"], "jti"), subject, sid)


def require_text(value: object, name: str) -> str:
    """A claim that databases can store and compare."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or not value.isprintable():
        raise InvalidToken(f"the claim {name} is missing, too long or no text")
    return value


def describe(error: Exception) -> str:
    """The kind of error and the claim, without its value."""
    claim = getattr(error, "claim", "") or ""
    return f"{type(error).__name__} {claim}".strip()
