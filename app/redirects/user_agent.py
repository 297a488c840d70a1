"""On which kind of device, with which system and browser, does somebody come, as the agent's text says it?"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ua_parser import Domain
from ua_parser.loaders import load_lazy_builtins
from ua_parser.regex import Resolver

from app.caches import cache_texts
from app.visits.agents import LONGEST

# What the matcher calls a family is finer than anybody targets or counts by, or has a name that nobody uses.
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
# the words for a browser's form, as in `Mobile Safari UI/WKWebView`, `Chrome Mobile iOS`, or `Firefox (…)`
FORM = re.compile(r"^Mobile (?=Safari)|(?: (?:Mobile|iOS|Android|WebView|UI/WKWebView|\(.*\)))+$")

TABLET = re.compile(r"iPad|PlayBook|Kindle|Silk|\bTablet;")
HAND_HELD = re.compile(
    r"Mobi|iPhone|iPod|Windows Phone|BlackBerry|BB10|Symb(?:ian|OS)|Nokia|Opera Mini|MIDP|KAIOS|PalmOS|webOS/"
)


# the browsers inside these apps say so
WEB_VIEW = re.compile(
    r"\bFB(?:AN|AV|_IAB)/|Instagram|Barcelona|musical_ly|Bytedance|TikTok|LinkedInApp|Pinterest/|"
    r"Snapchat|Twitter for|\bLine/|MicroMessenger|KAKAOTALK|\bGSA/|Reddit/|Discord/"
)


class Device(NamedTuple):
    """Empty is unknown; `device_type` is so only where there was no agent at all."""

    device_type: str = ""
    os_name: str = ""
    browser_name: str = ""


def device(agent: str) -> Device:
    """What an agent's text names. Remembered: to look costs 20 µs, and the same few come all the time."""
    return known_device(agent[:LONGEST])  # cut first: what is remembered must stay small


@cache_texts(4096, max_characters=LONGEST, bytes_per_entry=4500)
def known_device(agent: str) -> Device:
    if not agent.strip():
        return Device()
    found = matcher()(agent, Domain.USER_AGENT | Domain.OS)
    system = found.os.family if found.os else ""
    browser = found.user_agent.family if found.user_agent else ""
    return Device(device_type(agent), system_name(system), browser_name(browser))


def is_web_view(agent: str) -> bool:
    """Whether it is the browser inside an app. On iOS such browsers do not call themselves Safari."""
    is_bare = "AppleWebKit/" in agent and ("iPhone" in agent or "iPad" in agent) and "Safari/" not in agent
    return is_bare or WEB_VIEW.search(agent) is not None


def device_type(agent: str) -> str:
    """Android without `Mobile`, and iPad, are tablets. What names nothing hand-held is a desktop.

    Opera Mini, which is for phones, never says `Mobile`.
    """
    if "Opera Mini" in agent and "iPad" not in agent:
        return "mobile"
    if "Android" in agent:
        return "mobile" if "Mobile" in agent else "tablet"
    if TABLET.search(agent):
        return "tablet"
    return "mobile" if HAND_HELD.search(agent) else "desktop"


def system_name(family: str) -> str:
    """A system as its owner calls it: `Mac OS X` is macOS, and `Ubuntu` is a Linux."""
    return SYSTEMS.get(family, family)


def browser_name(family: str) -> str:
    """A browser without its form: `Mobile Safari` is Safari, `Chrome Mobile WebView` is Chrome."""
    plain = FORM.sub("", family)
    return BROWSERS.get(plain, plain)


@cache
def matcher() -> Resolver:
    """Without the patterns of single devices, which need more memory than the others together."""
    browsers, systems, _devices = load_lazy_builtins()
    return Resolver((browsers, systems, []))


def warm() -> None:
    """Compile all patterns now (a tenth of a second) and not in somebody's first visit."""
    known_device("warm")
