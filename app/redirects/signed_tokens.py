"""Signed tokens in visitors' pages: permission to get a link's scripts, to go on, or to use up a click."""

from __future__ import annotations

import secrets
from typing import NamedTuple, TypeVar

from itsdangerous import BadSignature

from app.core.secret_keys.timed_tokens import TimedTokens

SECONDS = 600
CONFIRMATION_SECONDS = 24 * 60 * 60  # a page may stay open in a tab until the visitor comes back to it


class Box(NamedTuple):
    """Permission to get the scripts of a link; `fires`: its pixels, too."""

    link_id: int
    fires: bool


class Passage(NamedTuple):
    """Permission to go on to a destination. The visit was counted while the link had this password.

    `id` is random: it identifies the passage, and a limited link's passage is redeemed only once.
    """

    link_id: int
    password_version: int
    location: str
    id: str


class Confirmation(NamedTuple):
    """Permission to use up one click of a limited link. However often its form is sent, one click counts.

    It unlocks nothing: all other checks of the link still apply. `referrer` is the page that the visitor came
    from, as its header named it, without the query.
    """

    link_id: int
    id: str
    referrer: str


Ticket = TypeVar("Ticket", Box, Passage, Confirmation)
AnyTicket = Box | Passage | Confirmation


def tokens_of(kind: type[AnyTicket], seconds: int) -> TimedTokens:
    """The signer of one kind of token. It is bound to the kind's name and fields, so a token is never taken
    for another kind's, or for one of another version."""
    return TimedTokens(f"waypost: a ticket, {kind.__name__} {' '.join(kind._fields)}", seconds)


TOKENS: dict[type[AnyTicket], TimedTokens] = {
    Box: tokens_of(Box, SECONDS),
    Passage: tokens_of(Passage, SECONDS),
    Confirmation: tokens_of(Confirmation, CONFIRMATION_SECONDS),
}


def make_id() -> str:
    return secrets.token_urlsafe(16)


def seconds_of(kind: type[AnyTicket]) -> int:
    """How many seconds a ticket of this kind is valid."""
    return TOKENS[kind].max_age


def signed(ticket: AnyTicket) -> str:
    return TOKENS[type(ticket)].sign(list(ticket))


def read(kind: type[Ticket], text: str) -> Ticket | None:
    """The ticket; None if its signature is not ours, or expired."""
    try:
        return kind(*TOKENS[kind].read(text))
    except BadSignature:
        return None
