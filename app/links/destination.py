"""Where may a link lead?

Not into a script, and not to a short address of this instance, for that could turn in a circle.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from urllib.parse import unquote_to_bytes

from sqlalchemy import bindparam, select

from app.addresses import WEB, Address, BadAddress, read_address
from app.config import Settings
from app.domains.models import Domain
from app.extensions import db
from app.links.aliases import read_alias
from app.reading import Rejected

MOST = 8192
AT_ONCE = 500
VERIFIED = select(Domain.host).where(Domain.host.in_(bindparam("hosts", expanding=True)), Domain.is_verified)


def read_destination(text: str, settings: Settings | None) -> Address:
    """What a destination names; the text itself is what is stored. Raises Rejected."""
    try:
        return read_address(text, MOST, settings.destination_schemes if settings else WEB)
    except BadAddress as bad:
        raise Rejected(str(bad), bad.code) from None


def own_hosts(addresses: Iterable[Address], settings: Settings | None, host: str | None) -> frozenset[str]:
    """Which of the hosts serve short addresses: `BASE_URL`'s, the request's, and verified domains."""
    named = [settings and settings.base_url, host and f"http://{host}"]
    own = {netloc_of(text) for text in named if text}
    return frozenset(own | verified({name for one in addresses for name in (one.netloc, one.host)}))


def netloc_of(text: str) -> str:
    try:
        return read_address(text, MOST).netloc
    except BadAddress:
        return ""  # a `Host` header that names no host: no address can have it either


def verified(hosts: Collection[str]) -> set[str]:
    """Which of these hosts are somebody's verified domain."""
    names, found = sorted(hosts), set[str]()
    for start in range(0, len(names), AT_ONCE):
        found.update(db.session.connection().scalars(VERIFIED, {"hosts": names[start : start + AT_ONCE]}))
    return found


def is_own_short_address(address: Address, own: Collection[str]) -> bool:
    """Could a visitor who goes there be sent on by this instance?"""
    return (address.netloc in own or address.host in own) and names_alias(address.path)


def names_alias(path: str) -> bool:
    """Whether a path, as browsers read it, is a word that can be an alias, perhaps with a slash behind it."""
    try:
        plain = unquote_to_bytes(re.split(r"[?#]", path)[0]).decode()
    except ValueError:
        return False
    words = resolved(plain.replace("\\", "/").split("/")[1:])
    if len(words) != 1 and words[1:] != [""]:
        return False
    try:
        return bool(words[0]) and bool(read_alias(words[0]))
    except Rejected:
        return False


def resolved(words: Iterable[str]) -> list[str]:
    """`a/./b/../c` is `a/c` to a browser."""
    found: list[str] = []
    is_folder = False
    for word in words:
        is_folder = word in {".", ".."}
        if word == "..":
            found = found[:-1]
        elif word != ".":
            found.append(word)
    return [*found, ""] if is_folder else found
