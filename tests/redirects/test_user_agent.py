"""User agents: the device, system and browser that each of them names, and browsers inside apps."""

from __future__ import annotations

import pytest

from app.redirects.user_agent import Device, is_web_view, parse_device
from app.redirects.visitor import Visitor
from app.web.device_names import BROWSERS, SYSTEMS

ANDROID_WEB_VIEW = (
    "Mozilla/5.0 (Linux; Android 15; Pixel 9; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 "
    "Chrome/130.0 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/480.0;]"
)
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
ANDROID = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)"
WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)"
LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"

AGENTS = {
    "Chrome on Windows": (f"{WINDOWS} Chrome/130.0.0.0 Safari/537.36", "desktop", "Windows", "Chrome"),
    "Chrome on Linux": (f"{LINUX} Chrome/130.0.0.0 Safari/537.36", "desktop", "Linux", "Chrome"),
    "Chrome on Chrome OS": (
        "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
        "desktop", "Chrome OS", "Chrome"),
    "Chrome on a phone": (f"{ANDROID} Chrome/130.0.0.0 Mobile Safari/537.36", "mobile", "Android", "Chrome"),
    "Chrome on a tablet": (f"{ANDROID} Chrome/130.0.0.0 Safari/537.36", "tablet", "Android", "Chrome"),
    "Chrome on iOS": (f"{IPHONE} CriOS/130.0.6723.37 Mobile/15E148 Safari/604.1", "mobile", "iOS", "Chrome"),
    "Android's web view": (
        "Mozilla/5.0 (Linux; Android 14; SM-S911B Build/UP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/128.0.0.0 Mobile Safari/537.36",
        "mobile", "Android", "Chrome"),
    "Safari on a Mac": (f"{MAC} Version/18.0 Safari/605.1.15", "desktop", "macOS", "Safari"),
    "Safari on a phone": (f"{IPHONE} Version/18.0 Mobile/15E148 Safari/604.1", "mobile", "iOS", "Safari"),
    "Safari on a tablet": (
        "Mozilla/5.0 (iPad; CPU OS 17_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.7 Mobile/15E148 Safari/604.1",
        "tablet", "iOS", "Safari"),
    "iOS's web view": (f"{IPHONE} Mobile/15E148", "mobile", "iOS", "Safari"),
    "Firefox on Windows": (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:130.0) Gecko/20100101 Firefox/130.0", "desktop", "Windows", "Firefox"),
    "Firefox on Ubuntu": (
        "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0", "desktop", "Linux", "Firefox"),
    "Firefox on iOS": (f"{IPHONE} FxiOS/130.0 Mobile/15E148 Safari/605.1.15", "mobile", "iOS", "Firefox"),
    "Firefox on KaiOS": (
        "Mozilla/5.0 (Mobile; Nokia_2720_Flip; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5.2", "mobile", "KaiOS", "Firefox"),
    "Edge on Windows": (f"{WINDOWS} Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0", "desktop", "Windows", "Edge"),
    "Edge on iOS": (f"{IPHONE} Version/17.0 EdgiOS/129.0.2792.84 Mobile/15E148 Safari/605.1.15", "mobile", "iOS", "Edge"),
    "Opera Mini on Android": (
        "Opera/9.80 (Android; Opera Mini/36.2.2254/119.132; U; id) Presto/2.12.423 Version/12.16", "mobile", "Android", "Opera"),
    "Samsung Internet": (
        f"{ANDROID} SamsungBrowser/26.0 Chrome/122.0.0.0 Mobile Safari/537.36", "mobile", "Android", "Samsung Internet"),
    "a Windows with a pen is no tablet": (
        "Mozilla/5.0 (Windows NT 6.1; Trident/7.0; Tablet PC 2.0; rv:11.0) like Gecko", "desktop", "Windows", "IE"),
    "in an app on iOS": (
        f"{IPHONE} Mobile/15E148 Instagram 334.0.4.32.98 (iPhone14,5; iOS 17_5; de_DE)", "mobile", "iOS", "Instagram"),
    "Silk": (
        "Mozilla/5.0 (Linux; Android 9; KFMAWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/120.1.1 like Chrome/120.0 Safari/537.36",
        "tablet", "Android", "Amazon Silk"),
    "a program": ("curl/8.5.0", "desktop", "", "curl"),
    "nonsense": ("nonsense", "desktop", "", ""),
    "none": ("", "", "", ""),
    "an agent without end": (WINDOWS + " x" * 9999, "desktop", "Windows", ""),
}  # fmt: skip


@pytest.mark.parametrize("row", AGENTS.values(), ids=AGENTS)
def test_agents(row: tuple[str, str, str, str]) -> None:
    agent, *expected = row
    assert parse_device(agent) == Device(*expected)


WEB_VIEWS = {
    "Safari": (f"{IPHONE} Version/18.0 Mobile/15E148 Safari/604.1", False),
    "Chrome": (f"{IPHONE} CriOS/130.0 Mobile/15E148 Safari/604.1", False),
    "Facebook": (f"{IPHONE} Mobile/15E148 [FBAN/FBIOS;FBAV/480.0;FBDV/iPhone16,1]", True),
    "Instagram": (f"{IPHONE} Mobile/15E148 Instagram 350.0.0 (iPhone16,1; iOS 18_0)", True),
    "TikTok": (f"{IPHONE} Mobile/15E148 musical_ly_36.0.0 BytedanceWebview/d8a21c6", True),
    "Snapchat": (f"{IPHONE} Version/18.0 Mobile/15E148 Safari/604.1 Snapchat/12.0", True),
    "X": (f"{IPHONE} Mobile/15E148 Twitter for iPhone/10.0", True),
    "the Google app": (f"{IPHONE} GSA/330.0 Mobile/15E148 Safari/604.1", True),
    "one without a name": (f"{IPHONE} Mobile/15E148", True),
    "Facebook on Android": (ANDROID_WEB_VIEW, True),
    "a desktop": (WINDOWS, False),
    "none": ("", False),
}


@pytest.mark.parametrize(("agent", "expected"), WEB_VIEWS.values(), ids=WEB_VIEWS)
def test_the_browser_inside_an_app_is_recognised(agent: str, expected: bool) -> None:
    assert is_web_view(agent) is expected
    assert Visitor({"HTTP_USER_AGENT": agent}).is_in_web_view is expected


def test_a_visitor_has_them() -> None:
    visitor = Visitor({"HTTP_USER_AGENT": AGENTS["Chrome on iOS"][0]})
    assert (visitor.device_type, visitor.os_name, visitor.browser_name) == ("mobile", "iOS", "Chrome")
    assert Visitor({}).device == Device()


def test_no_folded_name_is_folded_again() -> None:
    for table in (SYSTEMS, BROWSERS):
        assert not set(table.values()) & set(table) - {""}
