"""Parsers of the settings of single sign-on by OpenID Connect.

As in `setting_values`: each takes the text of a setting and returns its value, or raises ValueError. No
message repeats the client's secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from app.core.setting_values import PREFIX, WEB_SCHEMES, split_url, trusted_host, words

OPENID = "openid"
ANY_DOMAIN = "*"
ROLES = ("viewer", "editor", "owner")  # in a workspace, from the least to the most that a member may do
SECRET_CHARACTERS = re.compile(r"[ -~]{1,1024}", re.ASCII)
NAME_LENGTH = 64
MAX_ID = 2**63 - 1
FLAGS = {
    "1": True,
    "true": True,
    "on": True,
    "yes": True,
    "0": False,
    "false": False,
    "off": False,
    "no": False,
}


@dataclass(frozen=True)
class RoleRule:
    """A row of OIDC_ROLES: whoever has this value of the claim has this role in the workspace."""

    claim: str
    value: str
    workspace_id: int
    role: str

    def __str__(self) -> str:
        return f"{self.claim}={self.value}:{self.workspace_id}:{self.role}"


def issuer(text: str) -> str:
    """The address of a provider, as its discovery document repeats it."""
    parts = split_url(text, WEB_SCHEMES, "https://id.example.com/realms/main")
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError("must be an address without a login, a question mark and a number sign")
    return text


def client_id(text: str) -> str:
    if not re.fullmatch(r"[!-~]{1,255}", text, re.ASCII):
        raise ValueError("must have 1 to 255 characters, all of them ASCII and none of them white space")
    return text


def client_secret(text: str) -> str:
    if not SECRET_CHARACTERS.fullmatch(text):
        raise ValueError("must have 1 to 1,024 characters, all of them ASCII")
    return text


def provider_name(text: str) -> str:
    """What people call the provider."""
    if not text.isprintable() or len(text) > NAME_LENGTH:
        raise ValueError(f"must have at most {NAME_LENGTH} characters, all of them printable")
    return text


def scopes(text: str) -> str:
    """Scopes, of which `openid` always is one: without it a provider sends no ID token."""
    found = list(dict.fromkeys([OPENID, *text.replace(",", " ").split()]))
    if not all(re.fullmatch(r"[!#-\[\]-~]{1,255}", scope, re.ASCII) for scope in found):
        raise ValueError("must be words like: openid profile email")
    return " ".join(found)


def email_domains(text: str) -> tuple[str, ...]:
    """Domains of e-mail addresses, or `*` for all."""
    found = words(text)
    if ANY_DOMAIN in found:
        return (ANY_DOMAIN,)
    if any("@" in word or word.startswith((".", "[")) for word in found):
        raise ValueError("must be domains like example.com, without an @, or *")
    return tuple(trusted_host(word) for word in found)


def role_rules(text: str) -> tuple[RoleRule, ...]:
    """Rows like `groups=marketing:3:editor`, apart by semicolons or line ends: groups may have commas."""
    return tuple(role_rule(row.strip()) for row in re.split(r"[;\n]", text) if row.strip())


def role_rule(row: str) -> RoleRule:
    """One row. It is read from its end, for values may have colons."""
    match = re.fullmatch(r"([^=\s]{1,255})=(.{1,255}):(\d{1,19}):([a-z]+)", row)
    if not match or not 1 <= int(match[3]) <= MAX_ID or match[4] not in ROLES:
        raise ValueError(
            f"{row!r} must be like groups=marketing:3:editor: claim, value, the number of a workspace, and"
            f" one of {', '.join(ROLES)}"
        )
    return RoleRule(match[1], match[2], int(match[3]), match[4])


def flag(text: str) -> bool:
    if text.lower() not in FLAGS:
        raise ValueError("must be on or off")
    return FLAGS[text.lower()]


# the rows of the table in `config`
ROWS: dict[str, tuple[str | None, Callable[[str], Any]]] = {
    "OIDC_ISSUER": (None, issuer),
    "OIDC_CLIENT_ID": (None, client_id),
    "OIDC_CLIENT_SECRET": (None, client_secret),
    "OIDC_NAME": (None, provider_name),
    "OIDC_SCOPES": ("openid profile email", scopes),
    "OIDC_ROLES": ("", role_rules),
    "OIDC_EMAIL_DOMAINS": ("", email_domains),
    "OIDC_ONLY": ("off", flag),
}


@dataclass(frozen=True, kw_only=True)
class OidcSettings:
    """The settings of single sign-on, a part of `app.core.config.Settings`."""

    oidc_issuer: str | None  # without one there is no single sign-on
    oidc_client_id: str | None
    oidc_client_secret: str | None
    oidc_name: str | None
    oidc_scopes: str
    oidc_roles: tuple[RoleRule, ...]
    oidc_email_domains: tuple[str, ...]
    oidc_only: bool


def find_conflicts(settings: OidcSettings) -> Iterator[tuple[str, str]]:
    """A provider without a client, and settings of a provider that is not named."""
    if settings.oidc_issuer:
        if not settings.oidc_client_id:
            yield "OIDC_CLIENT_ID", f"must be set where {PREFIX}OIDC_ISSUER is"
        return
    for name in ("CLIENT_ID", "CLIENT_SECRET", "ONLY", "ROLES", "EMAIL_DOMAINS"):
        if getattr(settings, f"oidc_{name.lower()}"):
            yield f"OIDC_{name}", f"means nothing without {PREFIX}OIDC_ISSUER"
