"""Usual names of operating systems and browsers, for the finer names of the user agent matcher."""

from __future__ import annotations

import re

# The matcher's families are finer than owners target or count by, or have unusual names.
SYSTEMS = {
    **dict.fromkeys(("Mac OS", "Mac OS X"), "macOS"),
    **dict.fromkeys(
        ("Arch Linux", "BackTrack", "CentOS", "Debian", "Fedora", "Gentoo", "Kubuntu", "Linux Mint",
         "Lubuntu", "Mageia", "Mandriva", "PCLinuxOS", "Puppy", "Red Hat", "SUSE", "Slackware", "Ubuntu",
         "openSUSE"),
        "Linux",
    ),
    "Web0S": "webOS",
    "Other": "",
}  # fmt: skip
BROWSERS = {
    **dict.fromkeys(("Firefox Alpha", "Firefox Beta", "Firefox Focus", "Firefox Klar"), "Firefox"),
    **dict.fromkeys(
        ("Opera Coast", "Opera GX", "Opera Mini", "Opera Neon", "Opera Tablet", "Opera Touch"), "Opera"
    ),
    "WebKit Nightly": "Safari",
    "Android": "Android Browser",
    "Other": "",
}  # fmt: skip
# words for a browser's variant, as in `Mobile Safari UI/WKWebView`, `Chrome Mobile iOS`, or `Firefox (…)`
FORM = re.compile(r"^Mobile (?=Safari)|(?: (?:Mobile|iOS|Android|WebView|UI/WKWebView|\(.*\)))+$")


def system_name(family: str) -> str:
    """A system's usual name: `Mac OS X` is macOS, and `Ubuntu` is Linux."""
    return SYSTEMS.get(family, family)


def browser_name(family: str) -> str:
    """A browser without its variant: `Mobile Safari` is Safari, `Chrome Mobile WebView` is Chrome."""
    plain = FORM.sub("", family)
    return BROWSERS.get(plain, plain)
