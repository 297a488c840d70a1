"""What does one process keep at hand to answer visitors, and how is a visit written down?"""

from __future__ import annotations

import datetime as dt
import logging
import secrets
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from app.config import Settings
from app.journal.record import framed
from app.journal.segments import directory_of
from app.journal.visitor_keys import KEY_BYTES, day_key, visitor_hash
from app.journal.writer import Journal
from app.visits import agents, pieces
from app.visits.cache import Plans
from app.visits.limits import Limits
from app.visits.place import Places, database_path
from app.visits.place_check import FIRST_SECONDS, Vetting
from app.visits.plan import Plan
from app.visits.tickets import Passage
from app.visits.unlock import Unlock
from app.visits.visitor import Visitor

DAY_MS = 24 * 60 * 60 * 1000
RETRY_MS = 60 * 1000
LONGEST_DESTINATION = 2048

log = logging.getLogger(__name__)


class Desk:
    """Plans, journal and the day's key of one process; each is opened when it is first wanted."""

    def __init__(self, settings: Settings, role: str | None = None) -> None:
        self.settings = settings
        self.role = role
        self.today = Today(settings.data_dir)
        header = settings.geo_country_header
        self.country_key = "HTTP_" + header.upper().replace("-", "_") if header else None

    @cached_property
    def plans(self) -> Plans:
        return Plans(self.settings, self.role)

    @cached_property
    def journal(self) -> Journal:
        return Journal(directory_of(self.settings.data_dir), sync=self.settings.journal_sync)

    @cached_property
    def limits(self) -> Limits:
        return Limits(self.settings, self.plans.store)

    @cached_property
    def unlock(self) -> Unlock:
        return Unlock()

    @cached_property
    def places(self) -> Places:
        path = database_path(self.settings.geoip_db, self.settings.data_dir)
        return Places(path, vet=Vetting(path, self.settings.data_dir), wait=FIRST_SECONDS)

    def visitor(self, environ: Mapping[str, Any]) -> Visitor:
        settings = self.settings
        return Visitor(
            environ, settings.trusted_proxies, self.country_key, self.places.find, self.today.current
        )

    def clicks(self, plan: Plan) -> int | None:
        """How often a limited link was opened; None for any other, where nobody needs to know."""
        return None if plan.clicks_limit is None else self.limits.clicks(plan)

    def admit(self, plan: Plan, visitor: Visitor, destination: str) -> bool:
        """Count a visit before its answer leaves; False when the link's last click went to somebody else
        just now. Raises StoreDown where a limited link's visit can't be written."""
        if plan.clicks_limit is None or visitor.is_bot:
            self.record(plan, visitor, destination)
            return True
        return self.limits.take(plan, self.line(plan, visitor, destination))

    def redeem(self, plan: Plan, passage: Passage) -> bool:
        """Let a visitor on who was counted before a page of ours asked something; False when this passage of
        a limited link has led somebody on already. Raises StoreDown."""
        return plan.clicks_limit is None or self.limits.redeem(passage)

    def record(self, plan: Plan, visitor: Visitor, destination: str) -> None:
        """Write the visit down before its answer leaves. What can't be written, the journal counts."""
        self.journal.append(self.line(plan, visitor, destination))

    def line(self, plan: Plan, visitor: Visitor, destination: str) -> bytes:
        """The visit as the journal holds it."""
        time_ms = time.time_ns() // 1_000_000
        agent, owner = visitor.agent, plan.user_id
        who = visitor_hash(self.today.key(time_ms), visitor.address, agent, owner)
        bot, said = pieces.agent(agent[: agents.LONGEST])
        continent, country, city = visitor.place
        place = pieces.place(country, continent, city)
        told = f"{said}\t{pieces.language(visitor.language)}\t{pieces.referrer(*visitor.referrer)}"
        end = f"{pieces.utm(*visitor.utm)}\t{pieces.destination(destination[:LONGEST_DESTINATION])}"
        return framed(f"{time_ms}\t{plan.id}\t{owner}\t{bot}\t{who}\t{place}\t{told}\t{end}")

    def close(self) -> None:
        """Let go of what was opened, when the process ends."""
        if "limits" in self.__dict__:
            self.limits.close()
        if "plans" in self.__dict__:
            self.plans.close()
        if "journal" in self.__dict__:
            self.journal.close()


class Today:
    """The key of the running UTC day, kept until the day ends."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.kept: tuple[int, bytes] = (0, b"")  # until when, in milliseconds, and the key

    def current(self) -> bytes:
        return self.key(time.time_ns() // 1_000_000)

    def key(self, now_ms: int) -> bytes:
        until, key = self.kept
        if now_ms >= until:
            until, key = self.kept = self.made(now_ms)
        return key

    def made(self, now_ms: int) -> tuple[int, bytes]:
        """Where no key can be stored, redirects go on, with a key of this process alone."""
        try:
            day = dt.datetime.fromtimestamp(now_ms / 1000, dt.UTC).date()
            return (now_ms // DAY_MS + 1) * DAY_MS, day_key(self.data_dir, day)
        except OSError as error:
            log.error("The day's key can't be stored, so visitors may be counted twice: %s", error)  # noqa: TRY400
            return now_ms + RETRY_MS, secrets.token_bytes(KEY_BYTES)
