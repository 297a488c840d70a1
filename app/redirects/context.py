"""Redirect context: what one process needs for redirects. It also records clicks.

The fields of a click's journal line that repeat are encoded once, and cached.
"""

from __future__ import annotations

import datetime as dt
import logging
import secrets
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from app.core.caches import cache_texts
from app.core.config import Settings
from app.geo.lookup import UNKNOWN, GeoDatabase, Location, database_path
from app.geo.validate import FIRST_SECONDS, Vetting
from app.journal.codec import NO_UTM, cleaned, encode_ending, framed
from app.journal.daily_salt import KEY_BYTES, day_key, visitor_hash
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.redirects.cache import CompiledLinks
from app.redirects.compiled_link import CompiledLink
from app.redirects.gate_cookies import Unlock
from app.redirects.limits import Confirmed, Limits
from app.redirects.signed_tokens import Confirmation, Passage
from app.redirects.visitor import Visitor, utm

DAY_MS = 24 * 60 * 60 * 1000
REREAD_MS = 60 * 1000
BROWSER_KEYS = ("HTTP_USER_AGENT", "HTTP_ACCEPT_LANGUAGE", "HTTP_REFERER")
NO_PLACE = "\t\t"

# the agent as `visitor_hash` takes it; `is_bot` and `bot_name`; and `agent` to `referrer_path`
Browser = tuple[bytes, str, str]

log = logging.getLogger(__name__)


class RedirectContext:
    """Compiled links, journal, limits, geolocation and daily salt of one process; opened on first use."""

    def __init__(self, settings: Settings, role: str | None = None) -> None:
        self.settings = settings
        self.role = role
        self.proxies = settings.trusted_proxies
        self.today = Today(settings.data_dir)
        header = settings.geo_country_header
        self.country_key = "HTTP_" + header.upper().replace("-", "_") if header else None

    @cached_property
    def compiled_links(self) -> CompiledLinks:
        return CompiledLinks(self.settings, self.role)

    @cached_property
    def journal(self) -> Journal:
        return Journal(directory_of(self.settings.data_dir), sync=self.settings.journal_sync)

    @cached_property
    def limits(self) -> Limits:
        return Limits(self.settings, self.compiled_links.store)

    @cached_property
    def unlock(self) -> Unlock:
        return Unlock()

    @cached_property
    def geolocation(self) -> GeoDatabase:
        path = database_path(self.settings.geoip_db, self.settings.data_dir)
        return GeoDatabase(path, vet=Vetting(path, self.settings.data_dir), wait=FIRST_SECONDS)

    def visitor(self, environ: Mapping[str, Any]) -> Visitor:
        return Visitor(environ, self.proxies, self.country_key, self.geolocation.find, self.today.current)

    def clicks(self, compiled_link: CompiledLink) -> int | None:
        """The clicks of a limited link; None for any other, whose clicks do not matter here."""
        return None if compiled_link.clicks_limit is None else self.limits.clicks(compiled_link)

    def admit(self, compiled_link: CompiledLink, visitor: Visitor, destination: str) -> bool:
        """Count a visit before its answer is sent; False if another visitor has just used up the last click.
        Raises StoreDown if the visit of a limited link can't be written."""
        if compiled_link.clicks_limit is None or visitor.is_bot:
            self.record(compiled_link, visitor, destination)
            return True
        return self.limits.take(compiled_link, self.line(compiled_link, visitor, destination))

    def redeem(self, compiled_link: CompiledLink, passage: Passage) -> bool:
        """Whether a visitor may go on who was counted before an interstitial asked something. False if this
        passage of a limited link was used before. Raises StoreDown."""
        return compiled_link.clicks_limit is None or self.limits.redeem(passage)

    def confirm(
        self, compiled_link: CompiledLink, visitor: Visitor, destination: str, ticket: Confirmation
    ) -> Confirmed:
        """Count the visit of a visitor who was asked for a tap, before its answer. Raises StoreDown."""
        return self.limits.confirm(compiled_link, self.line(compiled_link, visitor, destination), ticket)

    def record(self, compiled_link: CompiledLink, visitor: Visitor, destination: str) -> None:
        """Write the visit to the journal before its answer is sent. The journal counts failures itself."""
        self.journal.append(self.line(compiled_link, visitor, destination))

    def line(self, compiled_link: CompiledLink, visitor: Visitor, destination: str) -> bytes:
        """The visit as a line of the journal."""
        browser = encode_browser(*(visitor.environ.get(key, "").encode("latin-1") for key in BROWSER_KEYS))
        marks = encode_utm(*utm(visitor.query)) if "utm_" in visitor.query else NO_UTM
        ending = encode_ending(destination, marks)
        return self.encode_visit(compiled_link, browser, visitor.address, visitor.location, ending)

    def encode_visit(
        self,
        compiled_link: CompiledLink,
        browser: Browser,
        address: str,
        location: Location,
        ending: str,
    ) -> bytes:
        """The line of a visit now, of fields as they are encoded. `ending`: of `encode_ending`."""
        time_ms = time.time_ns() // 1_000_000
        workspace = compiled_link.workspace_id
        agent, bot, told = browser
        who = visitor_hash(self.today.key(time_ms), address, agent, workspace)
        place = NO_PLACE if location is UNKNOWN else encode_location(*location)
        return framed(f"{time_ms}\t{compiled_link.id}\t{workspace}\t{bot}\t{who}\t{place}\t{told}\t{ending}")

    def close(self) -> None:
        """Close what was opened, when the process ends."""
        if "limits" in self.__dict__:
            self.limits.close()
        if "compiled_links" in self.__dict__:
            self.compiled_links.close()
        if "journal" in self.__dict__:
            self.journal.close()


class Today:
    """The daily salt: the key of the current UTC day. Its file is read once a minute, for another machine's
    may take the place of this one's."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.day: dt.date | None = None
        self.kept: tuple[int, bytes] = (0, b"")  # until when, in milliseconds, and the key

    def current(self) -> bytes:
        return self.key(time.time_ns() // 1_000_000)

    def key(self, now_ms: int) -> bytes:
        until, key = self.kept
        if now_ms >= until:
            until, key = self.kept = self.made(now_ms)
        return key

    def made(self, now_ms: int) -> tuple[int, bytes]:
        """Until when a key is valid, and the key. If none can be stored, redirects go on with a key of this
        process alone."""
        day = dt.datetime.fromtimestamp(now_ms / 1000, dt.UTC).date()
        until = min((now_ms // DAY_MS + 1) * DAY_MS, now_ms + REREAD_MS)
        try:
            key = day_key(self.data_dir, day)
        except OSError as error:
            if self.day == day:  # its file can't be read now: it goes on as it was
                return until, self.kept[1]
            log.error("The daily salt can't be stored, so visitors may be counted twice: %s", error)  # noqa: TRY400
            return until, secrets.token_bytes(KEY_BYTES)
        self.day = day
        return until, key


# --- the fields of a journal line that repeat: each function returns one or more, in their order, with TABs


@cache_texts(2048, max_characters=768, bytes_per_entry=8000)
def encode_browser(agent: bytes, languages: bytes, referrer: bytes) -> Browser:
    """All that follows from these three headers, which come together: from a browser that opens several
    links, and from many browsers of one kind that come from one page.
    """
    sent = (agent.decode("latin-1"), languages.decode("latin-1"), referrer.decode("latin-1"))
    visitor = Visitor(dict(zip(BROWSER_KEYS, sent, strict=True)))
    name, (host, path) = visitor.bot_name, visitor.referrer
    texts = {
        "agent": visitor.agent,
        "language": visitor.language,
        "referrer_host": host,
        "referrer_path": path,
    }
    told = "\t".join(cleaned(field, text) for field, text in texts.items())
    return visitor.hashed_agent, f"{1 if name else 0}\t{cleaned('bot_name', name)}", told


@cache_texts(4096, max_characters=132, bytes_per_entry=1600)
def encode_location(continent_code: str, country_code: str, city_name: str) -> str:
    country, continent = cleaned("country_code", country_code), cleaned("continent_code", continent_code)
    return f"{country}\t{continent}\t{cleaned('city_name', city_name)}"


@cache_texts(1024, max_characters=256, bytes_per_entry=2800)
def encode_utm(source: str, medium: str, campaign: str) -> str:
    start = f"{cleaned('utm_source', source)}\t{cleaned('utm_medium', medium)}"
    return f"{start}\t{cleaned('utm_campaign', campaign)}"
