"""Decides by a page's response headers whether it may be shown in a frame of another page.

It follows what browsers do: `frame-ancestors` of a Content-Security-Policy, and X-Frame-Options only if no
policy has that. What a browser does not understand forbids nothing.
"""

# see docs/decisions/2026-11-21-frames-that-are-forbidden.md
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import SplitResult

from app.core.urls import split_address

Headers = Sequence[tuple[str, str]]

PORTS = {"http": "80", "https": "443"}
SOURCE = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*)://)?(?P<host>\*|(?:\*\.)?[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]+|\*))?"
    r"(?:/.*)?",
    re.ASCII,
)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.ASCII)
KNOWN = frozenset({"deny", "sameorigin", "allowall"})


def forbids_framing(headers: Headers, destination: str, framing: str) -> bool:
    """Whether the answer at `destination` forbids a frame on the page at `framing`."""
    at, page = split_address(framing), split_address(destination)
    policies = list(ancestors(headers))
    if policies:
        return not all(any(allows(source, at, page) for source in policy) for policy in policies)
    return refuses(values(headers, "x-frame-options"), is_own=is_same(at, page))


def values(headers: Headers, name: str) -> list[str]:
    """All values of a header, whether on several lines or separated by commas."""
    return [part.strip() for key, text in headers if key.lower() == name for part in text.split(",")]


def ancestors(headers: Headers) -> Iterator[list[str]]:
    """The sources of `frame-ancestors`, of each policy that has it; a second one in a policy is ignored."""
    for policy in values(headers, "content-security-policy"):
        directives = [directive.lower().split() for directive in policy.split(";")]
        found = [words[1:] for words in directives if words and words[0] == "frame-ancestors"]
        yield from found[:1]


def allows(source: str, framing: SplitResult, page: SplitResult) -> bool:
    """Whether a source names the framing page's origin."""
    if SCHEME.fullmatch(source):
        return is_scheme(source[:-1], framing.scheme)
    found = SOURCE.fullmatch(source)
    if found is None:
        return is_same(framing, page) if source == "'self'" else False
    scheme = found["scheme"] or ("" if source == "*" else page.scheme)
    fits = not scheme or is_scheme(scheme, framing.scheme)
    return fits and is_host(found["host"], framing.hostname or "") and is_port(found["port"], framing, scheme)


def is_scheme(named: str, scheme: str) -> bool:
    return named == scheme or (named == "http" and scheme == "https")


def is_host(named: str, host: str) -> bool:
    if named == "*":
        return True
    return host.endswith(named[1:]) if named.startswith("*.") else host == named.strip("[]")


def is_port(named: str | None, framing: SplitResult, scheme: str) -> bool:
    """Whether the source's port fits. No port means the scheme's default one, or that of a matching https
    page."""
    port = str(framing.port or PORTS.get(framing.scheme, ""))
    if named is None:
        return not scheme or port in {PORTS.get(scheme), PORTS.get(framing.scheme)}
    return named in {"*", port} or (named, port) == ("80", "443")


def is_same(framing: SplitResult, page: SplitResult) -> bool:
    return (framing.scheme, framing.netloc.lower()) == (page.scheme, page.netloc.lower())


def refuses(options: Iterable[str], *, is_own: bool) -> bool:
    """Whether X-Frame-Options refuses a frame. Browsers take different values, which contradict each other,
    as a refusal."""
    found = {option.lower() for option in options}
    if len(found) > 1:
        return bool(found & KNOWN)
    return found == {"deny"} or (found == {"sameorigin"} and not is_own)
