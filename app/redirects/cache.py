"""Which plans are at hand, and how does a process learn that one is out of date?

Every change writes a row of `plan_change` in its own transaction; each process reads them onwards
(`poll`). The rule that keeps a stale plan out: whoever loads notes the epoch first, and the plan is kept
only if no change was seen in between.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable

from app.config import Settings
from app.visits.changes import Change, Changes
from app.visits.hosts import Site, Sites
from app.visits.paths import alias_key
from app.visits.plan import Plan, compiled
from app.visits.shelf import Shelf
from app.visits.store import Row, Store, StoreDown

POLL_SECONDS = 0.2
GENERATION = 10_000
OFTEN = 8
SPELLINGS = 2 * GENERATION
MAX_SPELLING_BYTES = 8 * 1024 * 1024  # of all of them: a path may be written in many ways, and long ones
SPELLING_BYTES = 250  # that one takes beside its characters
# bytes of all plans of a generation, of which there are two: one link may have 100 long destinations
HEAVIEST = 24 * 1024 * 1024

Key = tuple[int, str]
log = logging.getLogger(__name__)


class Plans:
    """The plans of one process. `spellings` finds one by host and path as sent: the front's only look-up.

    A spelling is never taken out when its link changes, for nobody knows them all; instead the plan it leads
    to is marked `is_gone`. Every plan that is not gone stands in `young` or `old`, by domain and alias.
    """

    def __init__(self, settings: Settings, role: str | None = None) -> None:
        self.settings = settings
        self.role = role
        self.store = Store(settings)
        self.changes = Changes(self.store)
        self.spellings: dict[tuple[str, str], Plan] = {}
        self.spelling_bytes = 0
        self.young: dict[Key, Plan] = {}
        self.old: dict[Key, Plan] = {}
        self.weight = 0  # of the young
        self.shelf = Shelf()
        self.passing = 0
        self.sites: Sites | None = None
        self.epoch = 0
        self.lock = threading.Lock()  # around what is cached; held for moments, never during a read
        self.polling = threading.Lock()  # around `changes`; those who look up never wait for it
        self.polled = 0.0  # when the last poll succeeded; 0: none did

    def site(self, host: str) -> Site:
        """What this host serves."""
        sites = self.sites
        if sites is None:
            epoch = self.begin()
            sites = Sites(self.store.domains(), self.settings, self.role)
            with self.lock:
                if self.epoch == epoch:
                    self.sites = sites
        return sites.at(host)

    def find(self, host: str, path: str) -> Plan | None:
        """The plan for what was asked, or None when there is no such link here. Raises StoreDown."""
        epoch = self.begin()
        site = self.site(host)
        plan = self.find_cached(host, path)
        alias = alias_key(path)
        if plan is not None or alias is None or not site.has_links:
            return plan
        row = self.store.link(site.domain_id, alias)
        if row is None:
            return None
        plan = self.compiled(row)
        self.shelve([(alias, row)], epoch)
        self.keep((host, path), (site.domain_id, alias), plan, epoch)
        return plan

    def find_cached(self, host: str, path: str) -> Plan | None:
        """The plan for what was asked, where no database is needed for it."""
        plan = self.spellings.get((host, path))
        if plan is not None and not plan.is_gone:
            return plan
        epoch, sites, alias = self.epoch, self.sites, alias_key(path)
        if sites is None or alias is None or not (site := sites.at(host)).has_links:
            return None
        key = (site.domain_id, alias)
        plan = self.known(key)
        if plan is None:
            row = self.shelf.get(*key)
            if row is None or self.is_passing():
                return self.compiled(row) if row else None
            plan = self.compiled(row)
            self.shelve([(alias, row)], epoch)  # as the newest: the oldest go first
        self.keep((host, path), key, plan, epoch)
        return plan

    def is_passing(self) -> bool:
        """What is on the shelf is only now and then worth a plan that stays: who comes often gets his so."""
        self.passing = (self.passing + 1) % OFTEN
        return self.passing != 0

    def shelve(self, rows: Iterable[tuple[str, Row]], epoch: int) -> bool:
        """Keep rows by their aliases' keys; False if something changed since they began to be read."""
        with self.lock:
            if self.epoch == epoch:
                for alias, row in rows:
                    self.shelf.put(alias, row)
            return self.epoch == epoch

    def begin(self) -> int:
        """The epoch that a load belongs to. Nothing is loaded before we know where changes begin."""
        if not self.polled:
            self.poll()
        return self.epoch

    def known(self, key: Key) -> Plan | None:
        return self.young.get(key) or self.old.get(key)

    def load(self, domain_id: int, alias: str) -> Plan | None:
        row = self.store.link(domain_id, alias)
        return self.compiled(row) if row else None

    def compiled(self, row: Row) -> Plan:
        settings = self.settings
        return compiled(row, settings.destination_schemes, asks_consent=settings.pixel_consent == "ask")

    def keep(self, spelling: tuple[str, str], key: Key, plan: Plan, epoch: int) -> None:
        """Keep a plan, unless something changed since its load began. (A miss is never kept.)"""
        with self.lock:
            if self.epoch != epoch or plan.is_gone:
                return
            self.old.pop(key, None)
            if key not in self.young and self.is_full(plan):
                self.rotate()
            self.young[key] = plan
            self.weight += plan.weight
            self.spelling_bytes += SPELLING_BYTES + sum(map(len, spelling))
            if len(self.spellings) >= SPELLINGS or self.spelling_bytes > MAX_SPELLING_BYTES:
                self.forget_spellings()  # those in use come back at once, without a load
            self.spellings[spelling] = plan

    def forget_spellings(self) -> None:
        self.spellings, self.spelling_bytes = {}, 0

    def is_full(self, plan: Plan) -> bool:
        return len(self.young) >= GENERATION or self.weight + plan.weight > HEAVIEST

    def rotate(self) -> None:
        """Full: the young become the old, and the old go; spellings too, or they would hold on to them."""
        for plan in self.old.values():
            plan.is_gone = True
        self.old, self.young, self.weight = self.young, {}, 0
        self.forget_spellings()

    def poll(self) -> None:
        """Drop what has changed since the last time. Raises StoreDown."""
        with self.polling:
            asked = time.monotonic()
            news = self.changes.news()
            if news:
                with self.lock:
                    for change in news:
                        self.drop(change)
                    self.epoch += 1  # last: who notes the new one finds nothing old any more
            self.polled = asked

    def drop(self, change: Change) -> None:
        if change.domain_id is not None and change.alias is not None:
            self.drop_plans([(change.domain_id, change.alias)])
            return
        # a whole host: which host that is may itself have changed
        self.sites = None
        self.forget_spellings()
        every = change.domain_id is None
        self.shelf.drop(change.domain_id)
        self.drop_plans([key for key in (*self.young, *self.old) if every or key[0] == change.domain_id])

    def drop_plans(self, keys: list[Key]) -> None:
        for key in keys:
            self.shelf.remove(*key)
            for generation in (self.young, self.old):
                if plan := generation.pop(key, None):
                    plan.is_gone = True

    def age(self) -> float:
        """Seconds since this process last knew of all changes."""
        return time.monotonic() - self.polled

    def close(self) -> None:
        self.store.close()


class Poller(threading.Thread):
    """Asks for changes five times a second, so that no redirect ever waits for the question."""

    def __init__(self, plans: Plans) -> None:
        super().__init__(name="plan changes", daemon=True)
        self.plans = plans
        self.ended = threading.Event()

    def run(self) -> None:
        is_down = False
        while not self.ended.wait(POLL_SECONDS):
            try:
                self.plans.poll()
            except StoreDown as error:
                if not is_down:  # once, not five times a second
                    log.error("redirects go on from memory, but changes are not seen: %s", error)  # noqa: TRY400
                is_down = True
            else:
                is_down = False

    def stop(self) -> None:
        self.ended.set()
        if self.is_alive():
            self.join()
