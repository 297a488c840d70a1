"""Checks, when a cloaked link is saved, whether its destinations allow frames.

It follows what browsers do: `frame-ancestors` of a Content-Security-Policy, and X-Frame-Options only if no
policy has that. What a browser does not understand forbids nothing.
"""

# see docs/decisions/2026-11-21-frames-that-are-forbidden.md
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from time import monotonic
from urllib.parse import SplitResult

from app.core.extensions import db
from app.core.urls import split_address
from app.dashboard.links.rows import short_url
from app.i18n.messages import gettext as _
from app.links.models import Link
from app.net import http as net_http
from app.net.networks import Network
from app.redirects.presentation import WEB
from app.web import application

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


SECONDS = 3.0  # for all of them: the owner waits
MAX_DESTINATIONS = 5
HOPS = 4
# as for a frame; of the body nothing is needed
HEADERS = {"accept": "text/html,*/*;q=0.8", "sec-fetch-dest": "iframe", "sec-fetch-mode": "navigate"}


def warning(links: Sequence[Link]) -> str | None:
    """A warning if a destination of a cloaked link forbids frames; None where none is known to.

    No transaction is open during the requests.
    """
    destinations_to_check = [
        pair for link in links if link.cloaking_is_enabled for pair in destinations(link)
    ]
    db.session.rollback()
    until = monotonic() + SECONDS
    hosts = [
        split_address(url).netloc
        for url, framing in islice(destinations_to_check, MAX_DESTINATIONS)
        if is_forbidden(url, framing, until)
    ]
    if not hosts:
        return None
    them = ", ".join(dict.fromkeys(hosts))
    return _(
        "Saved, but visitors will see an empty page: %(hosts)s forbids being shown in a frame. Turn "
        "cloaking off to redirect visitors there instead.",
        hosts=them,
    )


def destinations(link: Link) -> list[tuple[str, str]]:
    """Each address that the link may show in a frame, and the page that the frame is on."""
    every = dict.fromkeys([link.location_url, *(value for _, value in link.targeting or [])])
    return [(url, short_url(link)) for url in every if url.lower().startswith(WEB)]


def is_forbidden(url: str, framing: str, until: float) -> bool:
    """Whether the destination forbids frames. False if it fails to answer properly in time."""
    try:
        for _ in range(HOPS):
            left = until - monotonic()
            if left <= 0:
                return False
            answer = net_http.request("GET", url, headers=HEADERS, allowed=allowed(), seconds=left, limit=1)
            target = net_http.redirect_target(url, answer)
            if target is None:
                return forbids_framing(answer.headers, url, framing)
            url = target
    except net_http.NoAnswer:
        return False
    return False


def allowed() -> Sequence[Network]:
    return application.settings().allow_private_networks
