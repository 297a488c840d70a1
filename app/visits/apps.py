"""Which app can show a destination, and by which address does a phone open it there?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit

from app.visits.known_apps import APPS, App

TABLE = tuple(
    (re.compile(app.hosts, re.ASCII), tuple((re.compile(p, re.ASCII), ios) for p, ios in app.targets), app)
    for app in APPS
)


@dataclass(frozen=True)
class Opening:
    """How an app is opened. `needs_tap`: only a person's tap does, so put `address` behind a button."""

    app: str
    address: str
    needs_tap: bool
    fallback: str


def opening(destination: str, os_name: str) -> Opening | None:
    """How a phone of this system opens the destination in its app; None when it does not.

    `destination` is the address as it would leave in a redirect; `os_name` is `iOS` or `Android`.
    """
    parts = plain_parts(destination)
    if parts is None or os_name not in {"iOS", "Android"}:
        return None
    host = parts.netloc.lower()
    target = written(parts.path or "/") + (f"?{written(parts.query)}" if parts.query else "")
    end = f"#{written(parts.fragment)}" if parts.fragment else ""
    fallback = f"{parts.scheme}://{host}{target}{end}"
    known = match(host, target, end)
    if known is None:
        return None
    app, ios = known
    address = ios if os_name == "iOS" else app.package and intent(host + target, app.package, fallback)
    return Opening(app.name, address, address.startswith("https:"), fallback) if address else None


def match(host: str, target: str, end: str) -> tuple[App, str | None] | None:
    """The first app of the table that takes it, and its address on iOS."""
    for hosts, targets, app in TABLE:
        if hosts.fullmatch(host):
            for pattern, ios in targets:
                if found := pattern.fullmatch(target):
                    return app, ios and ios.format(rest=host + target + end, **found.groupdict())
    return None


def plain_parts(destination: str) -> SplitResult | None:
    """The parts of an http(s) address; None with anything in it that two readers could read differently."""
    if re.search(r"[\x00-\x20\x7f\\]", destination):
        return None
    try:
        parts = urlsplit(destination)
    except ValueError:
        return None
    # no login, no port, no other script: the host that is matched is the one that a browser goes to
    is_plain = parts.scheme in {"http", "https"} and re.fullmatch(r"[A-Za-z0-9.-]+", parts.netloc, re.ASCII)
    return parts if is_plain else None


def written(text: str) -> str:
    """Percent-encoded what could end an attribute, a script's text or an `intent:` address; no more."""
    return quote(text, safe="/?:@!$&()*+,;=-._~%", errors="replace")


def intent(rest: str, package: str, fallback: str) -> str:
    extra = quote(fallback, safe="")
    return f"intent://{rest}#Intent;scheme=https;package={package};S.browser_fallback_url={extra};end"
