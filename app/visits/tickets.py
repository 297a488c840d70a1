"""How does a page of ours carry on what was found out already, so that nobody else can make it up?"""

from __future__ import annotations

import hashlib
import secrets
from typing import NamedTuple, TypeVar

from itsdangerous import BadSignature, URLSafeTimedSerializer

from app.secret_keys.ring import keys

SECONDS = 600


class Box(NamedTuple):
    """Leave to see the scripts of a link; `fires`: its pixels too."""

    link_id: int
    fires: bool


class Passage(NamedTuple):
    """Leave to go on to a destination, the visit having been counted while the link had this password.

    `id` is random: a limited link's passage is redeemed once, and is known by it.
    """

    link_id: int
    password_version: int
    location: str
    id: str


Ticket = TypeVar("Ticket", Box, Passage)


def make_id() -> str:
    return secrets.token_urlsafe(16)


def signed(ticket: Box | Passage) -> str:
    return str(serializer(type(ticket)).dumps(list(ticket)))


def read(kind: type[Ticket], text: str) -> Ticket | None:
    """The ticket, for ten minutes; None for what we have not signed, or too long ago."""
    try:
        return kind(*serializer(kind).loads(text, max_age=SECONDS))
    except BadSignature:
        return None


def serializer(kind: type[Box] | type[Passage]) -> URLSafeTimedSerializer:
    """One for each kind and its fields, so that none is taken for another, nor for one of another version."""
    how = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
    salt = f"waypost: a ticket, {kind.__name__} {' '.join(kind._fields)}"
    return URLSafeTimedSerializer(keys().signing(), salt=salt, signer_kwargs=how)
