"""Visitors of the demo's links: countries, user agents and referrers with realistic weights."""

from __future__ import annotations

from typing import NamedTuple


class Land(NamedTuple):
    weight: int
    code: str
    languages: tuple[str, ...]
    cities: tuple[str, ...]


class DemoAgent(NamedTuple):
    """A user agent: its text after `Mozilla/5.0`, and the device, system and browser that targeting reads."""

    weight: int
    text: str
    device: str
    system: str
    browser: str


class Person(NamedTuple):
    """One visitor, as far as a visit records them."""

    land: Land
    city: str
    language: str
    agent: DemoAgent


class Referrer(NamedTuple):
    weight: int
    host: str
    paths: tuple[str, ...] = ("/",)


class Bot(NamedTuple):
    weight: int
    agent: str


LANDS = (
    Land(24, "US", ("en-US", "en-US", "es-US"), ("New York", "Chicago", "Austin", "Seattle")),
    Land(20, "DE", ("de-DE", "de-DE", "en-DE"), ("Berlin", "Hamburg", "München", "Köln")),
    Land(11, "GB", ("en-GB",), ("London", "Leeds", "Bristol")),
    Land(9, "FR", ("fr-FR",), ("Paris", "Lyon", "Nantes")),
    Land(8, "BR", ("pt-BR",), ("São Paulo", "Recife")),
    Land(7, "IN", ("en-IN", "hi-IN"), ("Mumbai", "Pune", "Delhi")),
    Land(5, "JP", ("ja-JP",), ("Tokyo", "Osaka")),
    Land(4, "ES", ("es-ES", "ca-ES"), ("Madrid", "Barcelona")),
    Land(3, "NL", ("nl-NL",), ("Amsterdam", "Utrecht")),
    Land(3, "CA", ("en-CA", "fr-CA"), ("Toronto", "Montréal")),
    Land(2, "AU", ("en-AU",), ("Sydney", "Perth")),
    Land(2, "NG", ("en-NG",), ("Lagos",)),
    Land(2, "", ("en",), ("",)),
)
WEBKIT, APPLE = "AppleWebKit/537.36 (KHTML, like Gecko)", "AppleWebKit/605.1.15 (KHTML, like Gecko)"
WINDOWS, MAC = "Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10_15_7"
ANDROID, CHROME_OS = "Linux; Android 10; K", "X11; CrOS x86_64 14541.0.0"
PHONE = "iPhone; CPU iPhone OS 18_6 like Mac OS X"
PAD = "iPad; CPU OS 18_6 like Mac OS X"
SAMSUNG = f"{WEBKIT} SamsungBrowser/28.0 Chrome/130.0.0.0"
CHROME, SAFARI = f"{WEBKIT} Chrome/141.0.0.0", f"{APPLE} Version/18.6"

AGENTS = (
    DemoAgent(26, f"({WINDOWS}) {CHROME} Safari/537.36", "desktop", "Windows", "Chrome"),
    DemoAgent(22, f"({PHONE}) {SAFARI} Mobile/15E148 Safari/604.1", "mobile", "iOS", "Safari"),
    DemoAgent(18, f"({ANDROID}) {CHROME} Mobile Safari/537.36", "mobile", "Android", "Chrome"),
    DemoAgent(9, f"({MAC}) {SAFARI} Safari/605.1.15", "desktop", "macOS", "Safari"),
    DemoAgent(6, f"({WINDOWS}) {CHROME} Safari/537.36 Edg/141.0.0.0", "desktop", "Windows", "Edge"),
    DemoAgent(5, "(X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0", "desktop", "Linux", "Firefox"),
    DemoAgent(4, f"({ANDROID}) {SAMSUNG} Mobile Safari/537.36", "mobile", "Android", "Samsung Internet"),
    DemoAgent(4, f"({PAD}) {SAFARI} Mobile/15E148 Safari/604.1", "tablet", "iOS", "Safari"),
    DemoAgent(3, f"({MAC}; rv:144.0) Gecko/20100101 Firefox/144.0", "desktop", "macOS", "Firefox"),
    DemoAgent(2, f"({CHROME_OS}) {CHROME} Safari/537.36", "desktop", "Chrome OS", "Chrome"),
    DemoAgent(1, f"({WINDOWS}) {CHROME} Safari/537.36 OPR/124.0.0.0", "desktop", "Windows", "Opera"),
)
REFERRERS = (
    Referrer(42, "", ("",)),
    Referrer(18, "www.google.com"),
    Referrer(9, "www.linkedin.com", ("/feed/", "/")),
    Referrer(7, "news.ycombinator.com", ("/item", "/")),
    Referrer(6, "t.co", ("/kq3xW8aZpL", "/Rb7TnY2vQe")),
    Referrer(5, "www.reddit.com", ("/r/selfhosted/", "/r/opensource/")),
    Referrer(4, "duckduckgo.com"),
    Referrer(4, "mail.example.com", ("/inbox",)),
    Referrer(3, "blog.example.com", ("/2026/launch", "/2026/how-we-work")),
    Referrer(2, "www.instagram.com"),
)
UTM = (
    (86, "", "", ""),
    (6, "newsletter", "email", "spring"),
    (4, "linkedin", "social", "launch"),
    (3, "google", "cpc", "brand"),
    (1, "poster", "print", "autumn"),
)
BOTS = (
    Bot(5, "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
    Bot(3, "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"),
    Bot(3, "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"),
    Bot(2, "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"),
    Bot(2, "curl/8.5.0"),
    Bot(1, "python-requests/2.32.3"),
)
