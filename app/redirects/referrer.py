"""Referrer: host and path of the page that a visitor came from, as far as the browser says."""

from __future__ import annotations

from urllib.parse import urlsplit

from app.core.caches import cache_texts
from app.core.urls import wire_host

LONGEST = 2048
SCHEMES = frozenset({"http", "https", "android-app"})
NOWHERE = "", ""


@cache_texts(2048, max_characters=256, bytes_per_entry=2000)
def referrer(address: str) -> tuple[str, str]:
    """The host of a `Referer` in its ASCII form, and its path; never its query. Both are empty if it can't be
    a page: clients may send anything. `address` is as the server passes it on, each byte a character."""
    try:
        parts = urlsplit(address.encode("latin-1", "replace").decode("utf-8", "replace"))
        host = dialled(parts.hostname or "") if parts.scheme in SCHEMES else ""
    except ValueError:  # also IDNA's and Punycode's own
        return NOWHERE
    return (host, parts.path or "/") if host else NOWHERE


def dialled(host: str) -> str:
    if "%" in host:  # an IPv6 address's zone may be any text
        raise ValueError
    if ":" in host:
        return wire_host(f"[{host}]")[1:-1]
    wire = wire_host(host)
    for label in wire.split("."):
        if label.startswith("xn--"):
            label[4:].encode("ascii").decode("punycode")
    return wire
