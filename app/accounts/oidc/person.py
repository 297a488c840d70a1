"""The person whom checked claims name, as a value that fits into a cookie."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from app.accounts.forms import parse_email, zones
from app.accounts.oidc.errors import UnverifiedEmail
from app.accounts.oidc.roles import are_complete, wanted_roles
from app.core.oidc_settings import RoleRule
from app.input.parsers import Rejected

NAME_LENGTH, TEXT_LENGTH = 128, 255
# Entra ID has no `email_verified`; this claim says that the tenant owns the domain of the address
ENTRA_HOSTS = {"login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn"}
ENTRA_CLAIM = "xms_edov"
OF_EMAIL = frozenset({"email", "email_verified", ENTRA_CLAIM})
OF_SIGN_IN = frozenset({"auth_time", "sid"})


class ProviderPerson(NamedTuple):
    """A person as the provider names them.

    `sid`: the provider's session, "" if unknown. `auth_time`: when they proved who they are, in seconds since
    1970; None if unknown. `roles`: by the id of a workspace; None where the claims do not tell.
    """

    issuer: str
    subject: str
    email: str
    name: str = ""
    timezone: str = "UTC"
    sid: str = ""
    auth_time: int | None = None
    roles: Mapping[str, str] | None = None

    @property
    def proved(self) -> dt.datetime | None:
        """When the person proved who they are at the provider."""
        return None if self.auth_time is None else dt.datetime.fromtimestamp(self.auth_time, dt.UTC)


def person_of(claims: Mapping[str, Any], issuer: str, rules: Iterable[RoleRule]) -> ProviderPerson:
    """The person of checked claims. Raises UnverifiedEmail."""
    zone, sid, auth_time = claims.get("zoneinfo"), claims.get("sid"), claims.get("auth_time")
    rules = tuple(rules)
    roles = wanted_roles(rules, claims) if are_complete(rules, claims) else None
    return ProviderPerson(
        issuer,
        claims["sub"],
        verified_email(claims, issuer),
        short_name(claims.get("name")),
        zone if isinstance(zone, str) and zone in zones() else "UTC",
        sid if isinstance(sid, str) and len(sid) <= TEXT_LENGTH and sid.isprintable() else "",
        int(auth_time) if isinstance(auth_time, int | float) and 0 < auth_time < 2**40 else None,
        None if roles is None else {str(workspace): role for workspace, role in roles.items()},
    )


def verified_email(claims: Mapping[str, Any], issuer: str) -> str:
    """The address as accounts have it. Raises UnverifiedEmail where the provider does not vouch for it."""
    email = claims.get("email")
    if not isinstance(email, str) or not is_true(claims.get(confirming_claim(claims, issuer))):
        raise UnverifiedEmail
    # letters that become ASCII in lower case are another address: K, the sign of Kelvin, is no k
    if not email.isascii() and email.lower().isascii():
        raise UnverifiedEmail
    try:
        return parse_email(email)
    except Rejected:
        raise UnverifiedEmail from None


def confirming_claim(claims: Mapping[str, Any], issuer: str) -> str:
    """The name of the claim that says whether the address of these claims is verified."""
    is_entra = urlsplit(issuer).hostname in ENTRA_HOSTS
    return ENTRA_CLAIM if is_entra and "email_verified" not in claims else "email_verified"


def judges_email(claims: Mapping[str, Any], issuer: str) -> bool:
    """Whether these claims have an address and say of it whether it is verified."""
    return {"email", confirming_claim(claims, issuer)} <= set(claims)


def merge_userinfo(claims: Mapping[str, Any], userinfo: Mapping[str, Any], issuer: str) -> dict[str, Any]:
    """The claims of an ID token, and those of the userinfo endpoint that it lacks.

    The address and its confirmation are from one of the two: the other's confirmation may be of another
    address. The userinfo endpoint does not know of this sign-in, so nothing about the sign-in is its.
    """
    judging = claims if judges_email(claims, issuer) else userinfo
    added = {name: value for name, value in userinfo.items() if name not in OF_SIGN_IN}
    others = {name: value for name, value in {**added, **claims}.items() if name not in OF_EMAIL}
    return others | {name: judging[name] for name in OF_EMAIL & set(judging)}


def is_true(value: object) -> bool:
    """Some providers send a truth as text or as a number."""
    return value is True or value in ("true", "1", 1)


def short_name(value: object) -> str:
    """A name that can be stored and shown; "" for what is none."""
    text = value if isinstance(value, str) else ""
    return "".join(letter for letter in text if letter.isprintable()).strip()[:NAME_LENGTH]
