"""Device type, operating system and browser of a visitor, from the user agent."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ua_parser import Domain
from ua_parser.loaders import load_lazy_builtins
from ua_parser.regex import Resolver

from app.core.caches import cache_texts
from app.redirects.bots import LONGEST
from app.web.device_names import browser_name, system_name

TABLET = re.compile(r"iPad|PlayBook|Kindle|Silk|\bTablet;")
HAND_HELD = re.compile(
    r"Mobi|iPhone|iPod|Windows Phone|BlackBerry|BB10|Symb(?:ian|OS)|Nokia|Opera Mini|MIDP|KAIOS|PalmOS|webOS/"
)


# the browsers inside these apps name them
WEB_VIEW = re.compile(
    r"\bFB(?:AN|AV|_IAB)/|Instagram|Barcelona|musical_ly|Bytedance|TikTok|LinkedInApp|Pinterest/|"
    r"Snapchat|Twitter for|\bLine/|MicroMessenger|KAKAOTALK|\bGSA/|Reddit/|Discord/"
)


class Device(NamedTuple):
    """A visitor's device. Empty is unknown; `device_type` is empty only if there was no agent at all."""

    device_type: str = ""
    os_name: str = ""
    browser_name: str = ""


def parse_device(agent: str) -> Device:
    """The device that an agent names. Cached: matching costs 20 µs, and the same few agents repeat."""
    return known_device(agent[:LONGEST])  # cut first: what is cached must stay small


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
    """Android without `Mobile`, and iPad, are tablets. An agent that names no hand-held device is a desktop.

    Opera Mini, which is for phones, never says `Mobile`.
    """
    if "Opera Mini" in agent and "iPad" not in agent:
        return "mobile"
    if "Android" in agent:
        return "mobile" if "Mobile" in agent else "tablet"
    if TABLET.search(agent):
        return "tablet"
    return "mobile" if HAND_HELD.search(agent) else "desktop"


@cache
def matcher() -> Resolver:
    """The matcher without the patterns of single devices, which need more memory than all others together."""
    browsers, systems, _devices = load_lazy_builtins()
    return Resolver((browsers, systems, []))


def warm() -> None:
    """Compile all patterns now (a tenth of a second), and not during the first visit."""
    known_device("warm")
