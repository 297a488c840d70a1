"""The `Location` header: a destination byte for byte, except for what a header can't carry."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote_plus

from app.core.urls import NEVER, WEB, wire_host

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=(//)?.)", re.ASCII)
# user information, host, port, and all the rest, none of it decoded; `urlsplit` would drop an empty query
AUTHORITY = re.compile(r"//((?:[^/?#@]*@)*)([^/?#:\[\]]+|\[[^]/?#]*\])((?::[0-9]*)?)(.*)", re.ASCII)
# nearly all destinations are like this, and are sent unchanged
PLAIN = re.compile(r"https?://[a-z0-9.-]+(?:[/?#][\x21-\x7e]*)?", re.ASCII)
UNSENDABLE = re.compile(r"[\x00-\x20\x7f]")
RAW = re.compile(r"[^\x21-\x7e]+")
# in a visitor's query a raw `#`, which no browser sends, would begin the fragment too early
FOREIGN = re.compile(r"[^\x21\x22\x24-\x7e]+")


def encode_location(destination: str, schemes: frozenset[str]) -> str | None:
    """The destination for a header, pure ASCII; None if it may not be sent at all.

    Raw non-ASCII becomes percent-encoded UTF-8, in the host `xn--`. Nothing else changes.
    """
    if PLAIN.fullmatch(destination) and schemes >= WEB:
        return destination
    found = SCHEME.match(destination)
    if not found or UNSENDABLE.search(destination) or not is_allowed(found[1].lower(), schemes):
        return None
    scheme, rest = destination[: found.end()], destination[found.end() :]
    if found[2] is None:
        return None if found[1].lower() in WEB else scheme + percent(rest)
    return with_host(scheme, rest)


def is_allowed(scheme: str, schemes: frozenset[str]) -> bool:
    return scheme in schemes and scheme not in NEVER


def with_host(scheme: str, rest: str) -> str | None:
    found = AUTHORITY.fullmatch(rest)
    if not found:
        return None
    user, host, port, path = found.groups()
    try:
        return f"{scheme}//{percent(user)}{host if host.isascii() else wire_host(host)}{port}{percent(path)}"
    except ValueError:  # there can be no such host
        return None


def percent(text: str) -> str:
    """Percent-encode, as UTF-8, raw characters that a header can't carry; leave the rest."""
    return RAW.sub(lambda raw: quote(raw[0], errors="replace"), text)


def with_query(destination: str, own: Iterable[tuple[str, str]], visitors: str = "") -> str:
    """The destination with the link's own parameters, which replace the destination's, and the visitor's.

    `visitors` is the raw query, each byte a character. The fragment stays last, and every parameter that
    stays keeps its bytes.
    """
    own = [(name, value) for name, value in own if value]
    if not own and not visitors:
        return destination
    head, hash_mark, fragment = destination.partition("#")
    path, mark, query = head.partition("?")
    names = {name for name, _ in own}
    kept = [part for part in query.split("&") if key(part) not in names] if mark else []
    added = [f"{name}={quote(value, safe='')}" for name, value in own]
    added += new_parts(visitors, {key(part) for part in kept} | names)
    return path + joined(mark, "&".join(kept), added) + hash_mark + fragment


def new_parts(visitors: str, present: set[str]) -> list[str]:
    """The visitor's parameters that the destination does not have. Bytes that are not UTF-8 are kept."""
    sent = visitors.encode("latin-1", "replace").decode("utf-8", "surrogateescape")
    parts = [part for part in sent.split("&") if part and key(part) not in present]
    return [FOREIGN.sub(lambda raw: quote(raw[0].encode("utf-8", "surrogateescape")), part) for part in parts]


def joined(mark: str, query: str, added: list[str]) -> str:
    if not added:
        return mark + query
    return f"?{query}{'' if not query or query.endswith('&') else '&'}{'&'.join(added)}"


def key(part: str) -> str:
    # bytes that are not UTF-8 are kept, or `%fe` and `%ff` would be one key
    return unquote_plus(part.partition("=")[0], errors="surrogateescape")
