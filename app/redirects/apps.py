"""App links: the app that can show a destination, and the address by which a phone opens it there."""

# see docs/decisions/2026-11-20-app-linking.md
# see docs/decisions/2026-11-22-apps-on-the-iphone.md
from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

UNIVERSAL = "https://{rest}"
# before a web address: opens it in Safari, also from a web view (iOS 17 and later)
SAFARI = "x-safari-"


class App(NamedTuple):
    """One app. Each target is a pattern of addresses and the address for iOS, None if there is none."""

    name: str
    package: str | None
    hosts: re.Pattern[str]
    targets: tuple[tuple[re.Pattern[str], str | None], ...]


def read_apps() -> Iterator[App]:
    """The rows of `known_apps.toml`, which explains them."""
    known = tomllib.loads((Path(__file__).parent / "known_apps.toml").read_text("utf-8"))
    words = {
        "{name}": "(?P<name>[A-Za-z0-9_.]+)",
        "{end}": r"/?(?:\?.*)?",
        **{f"{{{name}}}": one_of(endings) for name, endings in known["endings"].items()},
    }
    for row in known["apps"]:
        for ending, country in row.get("countries", {"": ""}).items():
            here = words | {"{ending}": re.escape(ending), "{country}": country}
            targets = row.get("targets", [{"path": "/.+"}])
            package = row["package"].replace("{country}", country) if "package" in row else None
            yield App(
                row["name"],
                package,
                pattern(row["hosts"], here),
                tuple((target_pattern(one, here), one.get("ios", UNIVERSAL) or None) for one in targets),
            )


def one_of(endings: str) -> str:
    return f"(?:{'|'.join(map(re.escape, endings.split()))})"


def target_pattern(target: Mapping[str, Any], words: Mapping[str, str]) -> re.Pattern[str]:
    """The pattern of a path; the first part of it is none of the words of `except`."""
    other = f"(?!(?:{target['except']})(?:[/?]|$))" if "except" in target else ""
    return pattern(f"/{other}{target['path'].removeprefix('/')}", words)


def pattern(text: str, words: Mapping[str, str]) -> re.Pattern[str]:
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return re.compile(text, re.ASCII)


APPS = tuple(read_apps())


@dataclass(frozen=True)
class Opening:
    """How an app is opened. The page opens `address` by itself; None if only a tap can open the app.

    `button` is what a tap opens. `fallback` is the web address that the page opens if no app does.
    """

    app: str
    address: str | None
    button: str
    fallback: str


def opening(destination: str, os_name: str, *, in_web_view: bool = False) -> Opening | None:
    """How a phone of this system opens the destination in its app; None if it does not.

    `destination` is the address as a redirect would send it; `os_name` is `iOS` or `Android`. A web view is
    the browser inside another app: on iOS it follows no universal links, so its button opens Safari.
    """
    parts = plain_parts(destination)
    if parts is None or os_name not in {"iOS", "Android"}:
        return None
    host = parts.netloc.lower()
    target = escape_url(parts.path or "/") + (f"?{escape_url(parts.query)}" if parts.query else "")
    end = f"#{escape_url(parts.fragment)}" if parts.fragment else ""
    fallback = f"{parts.scheme}://{host}{target}{end}"
    known = match(host, target, end, fallback)
    if known is None:
        return None
    app, ios = known
    if os_name == "Android":
        address = app.package and intent(host + target, app.package, fallback)
        return Opening(app.name, address, address, fallback) if address else None
    if ios is None:
        return None
    own = None if ios.startswith("https:") else ios
    return Opening(app.name, own, SAFARI + fallback if in_web_view else ios, fallback)


def match(host: str, target: str, end: str, fallback: str) -> tuple[App, str | None] | None:
    """The first app of the table that opens the destination, and its address on iOS."""
    for app in APPS:
        if app.hosts.fullmatch(host):
            for path, ios in app.targets:
                if found := path.fullmatch(target):
                    parts = {
                        "rest": host + target + end,
                        "target": target,
                        "encoded": quote(fallback, safe=""),
                    }
                    return app, ios and ios.format(**parts, **found.groupdict())
    return None


def plain_parts(destination: str) -> SplitResult | None:
    """The parts of an http(s) address; None if two parsers could read any of it differently."""
    if re.search(r"[\x00-\x20\x7f\\]", destination):
        return None
    try:
        parts = urlsplit(destination)
    except ValueError:
        return None
    # no login, no port, only ASCII: the host that is matched is the one that a browser opens
    is_plain = parts.scheme in {"http", "https"} and re.fullmatch(r"[A-Za-z0-9.-]+", parts.netloc, re.ASCII)
    return parts if is_plain else None


def escape_url(text: str) -> str:
    """Percent-encode only what could end an attribute, a script's text or an `intent:` address."""
    return quote(text, safe="/?:@!$&()*+,;=-._~%", errors="replace")


def intent(rest: str, package: str, fallback: str) -> str:
    extra = quote(fallback, safe="")
    return f"intent://{rest}#Intent;scheme=https;package={package};S.browser_fallback_url={extra};end"
