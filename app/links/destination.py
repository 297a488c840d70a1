"""Destinations: which URLs a link may redirect to.

Not to a script, and not to a short link of this instance, because that could be a redirect loop.
"""

# see docs/decisions/2026-11-20-destinations.md
from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from urllib.parse import unquote_to_bytes

from sqlalchemy import bindparam, select

from app.core.config import Settings
from app.core.extensions import db
from app.core.urls import WEB, Address, BadAddress, read_address
from app.domains.models import Domain
from app.i18n.messages import lazy_gettext as _l
from app.input.parsers import Rejected
from app.links.aliases import read_alias

MAX_URL_LENGTH = 8192
BATCH_SIZE = 500
OWN_ADDRESS = _l("This is a short link of this instance.")
VERIFIED = select(Domain.host).where(Domain.host.in_(bindparam("hosts", expanding=True)), Domain.is_verified)
VERIFIED_ONE = select(Domain.host).where(Domain.host == bindparam("host"), Domain.is_verified)


def read_destination(text: str, settings: Settings | None) -> Address:
    """The parsed destination; the text itself is what is stored. Raises Rejected."""
    try:
        return read_address(text, MAX_URL_LENGTH, settings.destination_schemes if settings else WEB)
    except BadAddress as bad:
        raise Rejected(str(bad), bad.code) from None


def own_hosts(addresses: Iterable[Address], settings: Settings | None, host: str | None) -> frozenset[str]:
    """The hosts that serve short links: `BASE_URL`'s, the request's, and verified domains of `addresses`."""
    named = [settings and settings.base_url, host and f"http://{host}"]
    own = {netloc_of(text) for text in named if text}
    return frozenset(own | verified({name for one in addresses for name in (one.netloc, one.host)}))


def netloc_of(text: str) -> str:
    try:
        return read_address(text, MAX_URL_LENGTH).netloc
    except BadAddress:
        return ""  # a `Host` header that names no valid host: no destination can have it either


def verified(hosts: Collection[str]) -> set[str]:
    """Which of these hosts are verified domains of any user."""
    names, found = sorted(hosts), set[str]()
    if len(names) == 1:
        return set(db.session.connection().scalars(VERIFIED_ONE, {"host": names[0]}))
    for start in range(0, len(names), BATCH_SIZE):
        found.update(db.session.connection().scalars(VERIFIED, {"hosts": names[start : start + BATCH_SIZE]}))
    return found


def is_own_short_address(address: Address, own: Collection[str]) -> bool:
    """Whether this instance could redirect a visitor who opens the address."""
    return (address.netloc in own or address.host in own) and names_alias(address.path)


class DestinationRules:
    """What the link form asks of a destination, for many of them: each host is looked up once."""

    def __init__(self, settings: Settings | None, host: str | None) -> None:
        self.settings, self.host = settings, host
        self.own: dict[tuple[str, str], Collection[str]] = {}

    def check(self, text: str) -> None:
        """Raises Rejected where no link may redirect there."""
        if self.is_own(read_destination(text, self.settings)):
            raise Rejected(OWN_ADDRESS, "circle")

    def is_own(self, address: Address) -> bool:
        names = (address.netloc, address.host)
        if names not in self.own:
            self.own[names] = own_hosts([address], self.settings, self.host)
        return is_own_short_address(address, self.own[names])


def names_alias(path: str) -> bool:
    """Whether a path, as browsers read it, can be an alias, perhaps with a trailing slash."""
    try:
        plain = unquote_to_bytes(re.split(r"[?#]", path)[0]).decode()
    except ValueError:
        return False
    alias = "/".join(resolved(plain.replace("\\", "/").split("/")[1:])).removesuffix("/")
    try:
        return bool(alias) and bool(read_alias(alias))
    except Rejected:
        return False


def resolved(words: Iterable[str]) -> list[str]:
    """Resolve dot segments as browsers do: `a/./b/../c` is `a/c`."""
    found: list[str] = []
    is_folder = False
    for word in words:
        is_folder = word in {".", ".."}
        if word == "..":
            found = found[:-1]
        elif word != ".":
            found.append(word)
    return [*found, ""] if is_folder else found
