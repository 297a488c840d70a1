"""The visitor: a request as a value, each part parsed on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote_plus

from werkzeug.http import parse_accept_header

from app.core.caches import cache_texts
from app.geo.lookup import UNKNOWN, Location, place_of_country
from app.journal.daily_salt import visitor_hash
from app.redirects import referrer as redirects_referrer
from app.redirects.bots import bot_name, is_preview_bot
from app.redirects.user_agent import Device, is_web_view, parse_device

LONGEST_LANGUAGES = 256
LONGEST_UTM = 256
# of a browser that only prefetches
PREFETCH_HEADERS = frozenset({b"sec-purpose", b"purpose", b"x-moz"})
UTM = ("utm_source", "utm_medium", "utm_campaign")


class Visitor:
    """One request. Nothing is parsed before it is used, and expensive results are cached for each text.

    `proxies` is the number of the operator's own proxies in front, and so of the entries of `X-Forwarded-For`
    that can be trusted. `country_key` is the environ's key of the header with the country. `locate`
    returns the location of an address, `day_key` the daily salt of visitor hashes.
    """

    __slots__ = ("address", "country_key", "day_key", "environ", "found_location", "locate")

    def __init__(
        self,
        environ: Mapping[str, Any],
        proxies: int = 0,
        country_key: str | None = None,
        locate: Callable[[str], Location] | None = None,
        day_key: Callable[[], bytes] | None = None,
    ) -> None:
        self.environ = environ
        # the IP address of the visitor. To be hashed; never stored, never logged
        self.address = address_of(environ, proxies)
        self.country_key = country_key
        self.locate = locate
        self.day_key = day_key
        self.found_location: Location | None = None

    @property
    def agent(self) -> str:
        """The user agent as it was sent, read as UTF-8 if it is valid."""
        sent = str(self.environ.get("HTTP_USER_AGENT", ""))
        return sent if sent.isascii() else read(sent)

    @property
    def hashed_agent(self) -> bytes:
        """The same as `visitor_hash` takes it."""
        return self.agent.encode("utf-8", "surrogatepass")

    @property
    def bot_name(self) -> str:
        return bot_name(self.agent)

    @property
    def is_bot(self) -> bool:
        return bool(self.bot_name)

    @property
    def is_preview_bot(self) -> bool:
        """Whether it is a bot that shows a card of the link in a chat or social network."""
        return self.is_bot and is_preview_bot(self.agent)

    @property
    def is_head(self) -> bool:
        """Whether the request is HEAD, which gets only the headers of an answer."""
        return self.environ.get("REQUEST_METHOD") == "HEAD"

    @property
    def refuses_pixels(self) -> bool:
        """Whether the browser sends `DNT` or `Sec-GPC`: do not track me, do not sell my data."""
        return self.environ.get("HTTP_SEC_GPC") == "1" or self.environ.get("HTTP_DNT") == "1"

    @property
    def is_prefetch(self) -> bool:
        return is_prefetch(self.environ)

    @property
    def languages(self) -> tuple[str, ...]:
        """Language tags, best first."""
        return languages(self.environ.get("HTTP_ACCEPT_LANGUAGE", "")[:LONGEST_LANGUAGES])

    @property
    def language(self) -> str:
        """The primary subtag of the preferred language, like `de`; empty if unknown."""
        found = self.languages
        return found[0].partition("-")[0].lower() if found else ""

    @property
    def referrer(self) -> tuple[str, str]:
        """Host and path of the page with the link, both empty if unknown. Never its query."""
        return redirects_referrer.referrer(self.environ.get("HTTP_REFERER", "")[: redirects_referrer.LONGEST])

    @property
    def query(self) -> str:
        """The query as sent, each byte a character."""
        return str(self.environ.get("QUERY_STRING", ""))

    @property
    def device(self) -> Device:
        return parse_device(self.agent)

    @property
    def device_type(self) -> str:
        """`desktop`, `mobile` or `tablet`; empty without a user agent."""
        return self.device.device_type

    @property
    def is_in_web_view(self) -> bool:
        """Whether the browser is one inside another app."""
        return is_web_view(self.agent)

    @property
    def os_name(self) -> str:
        return self.device.os_name

    @property
    def browser_name(self) -> str:
        return self.device.browser_name

    @property
    def location(self) -> Location:
        """The visitor's location; looked up once."""
        if self.found_location is None:
            self.found_location = self.look_up_location()
        return self.found_location

    def look_up_location(self) -> Location:
        found = self.locate(self.address) if self.locate else UNKNOWN
        return location_of(self.environ, self.country_key, found)

    @property
    def continent_code(self) -> str:
        return self.location.continent_code

    @property
    def country_code(self) -> str:
        """Upper case; empty if unknown."""
        return self.location.country_code

    @property
    def city_name(self) -> str:
        return self.location.city_name

    def day_hash(self, owner_id: int) -> str:
        """The visitor's hash among one owner's links until the UTC day ends, the same as for counting."""
        key = self.day_key() if self.day_key else b""
        return visitor_hash(key, self.address, self.hashed_agent, owner_id)


def address_of(environ: Mapping[str, Any], proxies: int) -> str:
    """The visitor's IP address, behind so many of the operator's own proxies."""
    address: str = environ.get("REMOTE_ADDR", "")
    return (forwarded(environ.get("HTTP_X_FORWARDED_FOR", ""), proxies) or address) if proxies else address


def location_of(environ: Mapping[str, Any], country_key: str | None, found: Location) -> Location:
    """The location, of which the database says `found`. The country from the operator's proxy wins; the
    database adds the city if both agree."""
    said = place_of_country(environ.get(country_key, "")) if country_key else UNKNOWN
    return found if said is UNKNOWN or found.country_code == said.country_code else said


def read(sent: str) -> str:
    """Decode a header, whose bytes the server passes on as one character each."""
    try:
        return sent.encode("latin-1").decode()
    except UnicodeError:  # not UTF-8
        return sent


def is_prefetch(environ: Mapping[str, Any]) -> bool:
    """Whether a browser only prefetches. It sends another request when the visitor really opens the link."""
    return "HTTP_SEC_PURPOSE" in environ or "HTTP_PURPOSE" in environ or "HTTP_X_MOZ" in environ


@cache_texts(1024, max_characters=100, bytes_per_entry=4500)
def languages(header: str) -> tuple[str, ...]:
    # a stable sort by descending q: equal ones stay in the visitor's order
    found = sorted(parse_accept_header(header), key=lambda pair: -pair[1])
    return tuple(tag for tag, q in found if q > 0 and tag not in {"", "*"})


def utm(query: str) -> tuple[str, str, str]:
    """`utm_source, utm_medium, utm_campaign` of the visitor's own query, each empty if missing.

    The first value of each; later ones are ignored, as mistakes or tricks.
    """
    found: dict[str, str] = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name in UTM:
            raw = value.encode("latin-1", "replace").decode("utf-8", "replace")
            found.setdefault(name, unquote_plus(raw)[:LONGEST_UTM])
    return found.get("utm_source", ""), found.get("utm_medium", ""), found.get("utm_campaign", "")


def forwarded(header: str, proxies: int) -> str:
    """The client's address as the outermost trusted proxy saw it; empty if the header has fewer entries."""
    entries = header.split(",")
    return without_proxy_port(entries[-proxies].strip()) if len(entries) >= proxies else ""


def without_proxy_port(address: str) -> str:
    """`[::1]:80` and `192.0.2.1:80` without the port, which some proxies add and which changes each time."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address
