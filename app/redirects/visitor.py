"""Who asks? The request read as a value, each part only when somebody wants it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote_plus

from werkzeug.http import parse_accept_header

from app.caches import cache_texts
from app.journal.visitor_keys import visitor_hash
from app.visits import referring
from app.visits.agents import bot_name, is_preview_bot
from app.visits.devices import Device, device, is_web_view
from app.visits.forwarded import forwarded
from app.visits.place import UNKNOWN, Place, place_of_country

LONGEST_LANGUAGES = 256
LONGEST_UTM = 256
UTM = ("utm_source", "utm_medium", "utm_campaign")


class Visitor:
    """One request. Nothing is read before it is asked for, and what costs is remembered for each text.

    `proxies` is how many proxies of the operator's own stand in front, and so how many entries of
    `X-Forwarded-For` can be believed; `country_key` is the environ's key of his header with the country.
    `find_place` tells the place of an address, `day_key` the key that visitors are hashed with today.
    """

    __slots__ = ("country_key", "day_key", "environ", "find_place", "found_place", "proxies")

    def __init__(
        self,
        environ: Mapping[str, Any],
        proxies: int = 0,
        country_key: str | None = None,
        find_place: Callable[[str], Place] | None = None,
        day_key: Callable[[], bytes] | None = None,
    ) -> None:
        self.environ = environ
        self.proxies = proxies
        self.country_key = country_key
        self.find_place = find_place
        self.day_key = day_key
        self.found_place: Place | None = None

    @property
    def address(self) -> str:
        """Where the request came from. To be hashed; never stored, never logged."""
        if self.proxies:
            return forwarded(self.environ.get("HTTP_X_FORWARDED_FOR", ""), self.proxies) or self.peer
        return self.peer

    @property
    def peer(self) -> str:
        return str(self.environ.get("REMOTE_ADDR", ""))

    @property
    def agent(self) -> str:
        """As it was sent, read as UTF-8 where it is any."""
        sent = str(self.environ.get("HTTP_USER_AGENT", ""))
        return sent if sent.isascii() else read(sent)

    @property
    def bot_name(self) -> str:
        return bot_name(self.agent)

    @property
    def is_bot(self) -> bool:
        return bool(self.bot_name)

    @property
    def is_preview_bot(self) -> bool:
        """Whether it is a bot that shows a card of the address in a chat or network."""
        return self.is_bot and is_preview_bot(self.agent)

    @property
    def is_head(self) -> bool:
        """Asks only what would be answered."""
        return self.environ.get("REQUEST_METHOD") == "HEAD"

    @property
    def refuses_pixels(self) -> bool:
        """Whether the browser says for the person: do not track me, do not sell what I do."""
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
        """The primary subtag of the language liked best, as `de`; empty when unknown."""
        found = self.languages
        return found[0].partition("-")[0].lower() if found else ""

    @property
    def referrer(self) -> tuple[str, str]:
        """Host and path of the page with the link, both empty when unknown. Never its query."""
        return referring.referrer(self.environ.get("HTTP_REFERER", "")[: referring.LONGEST])

    @property
    def query(self) -> str:
        """The query as sent, each byte a character."""
        return str(self.environ.get("QUERY_STRING", ""))

    @property
    def utm(self) -> tuple[str, str, str]:
        """`utm_source, utm_medium, utm_campaign` of the visitor's own query; empty what is not there."""
        query = self.query
        return utm(query) if "utm_" in query else ("", "", "")

    @property
    def device(self) -> Device:
        return device(self.agent)

    @property
    def device_type(self) -> str:
        """`desktop`, `mobile` or `tablet`; empty without any agent."""
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
    def place(self) -> Place:
        """Where the visitor is; looked up once."""
        if self.found_place is None:
            self.found_place = self.looked_up_place()
        return self.found_place

    def looked_up_place(self) -> Place:
        """What the operator's proxy says goes before the file, which may add the town."""
        said = place_of_country(self.environ.get(self.country_key, "")) if self.country_key else UNKNOWN
        found = self.find_place(self.address) if self.find_place else UNKNOWN
        return found if said is UNKNOWN or found.country_code == said.country_code else said

    @property
    def continent_code(self) -> str:
        return self.place.continent_code

    @property
    def country_code(self) -> str:
        """Upper case; empty when unknown."""
        return self.place.country_code

    @property
    def city_name(self) -> str:
        return self.place.city_name

    def day_hash(self, owner_id: int) -> str:
        """What stands for the visitor among one owner's links until the UTC day ends, as in counting."""
        return visitor_hash(self.day_key() if self.day_key else b"", self.address, self.agent, owner_id)


def read(sent: str) -> str:
    """The text of a header whose bytes the server hands on as a character each."""
    try:
        return sent.encode("latin-1").decode()
    except UnicodeError:  # it means something else, or nothing
        return sent


def is_prefetch(environ: Mapping[str, Any]) -> bool:
    """Does a browser only fetch ahead? It asks again when the person really goes there."""
    return "HTTP_SEC_PURPOSE" in environ or "HTTP_PURPOSE" in environ or "HTTP_X_MOZ" in environ


@cache_texts(1024, max_characters=100, bytes_per_entry=4500)
def languages(header: str) -> tuple[str, ...]:
    # a stable sort by falling q: equal ones stay in the visitor's order
    found = sorted(parse_accept_header(header), key=lambda pair: -pair[1])
    return tuple(tag for tag, q in found if q > 0 and tag not in {"", "*"})


def utm(query: str) -> tuple[str, str, str]:
    """The first of each; a later one with the same name is somebody's mistake or trick."""
    found: dict[str, str] = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name in UTM:
            raw = value.encode("latin-1", "replace").decode("utf-8", "replace")
            found.setdefault(name, unquote_plus(raw)[:LONGEST_UTM])
    return found.get("utm_source", ""), found.get("utm_medium", ""), found.get("utm_campaign", "")
