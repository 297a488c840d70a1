"""Cache of compiled links in one process, its invalidation, and the thread that warms it.

Every change writes a row of `plan_change` in its own transaction, and each process reads the new rows
(`poll`). One rule keeps stale compiled links out: a load notes the epoch first, and its result is kept only
if no change was seen in between.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from math import inf

from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.errors import StoreDown
from app.core.patience import VISITS
from app.core.poll_loop import PollLoop, quiet_database
from app.core.wakeups import LINK_CHANGES, WokenLoop
from app.redirects.changes import Changes, Invalidation
from app.redirects.compiled_link import CompiledLink, compile_link
from app.redirects.hosts import Site, Sites
from app.redirects.reader import DirectReader, Row, Store
from app.redirects.row_cache import MAX_LINKS, RowCache
from app.web.paths import alias_key

# of the row cache warmer: between a few hundred links, so that visitors hardly notice: 40,000 links a second
PAUSE_SECONDS = 0.003
REST_SECONDS = 1.0  # until it looks for new links
POLL_WAIT_SECONDS = 1.0  # for the poll of another thread, which takes longer where the database hangs
GENERATION = 10_000
OFTEN = 8
SPELLINGS = 2 * GENERATION
MAX_SPELLING_BYTES = 8 * 1024 * 1024  # of all of them: a path can be written in many ways, and long ones
SPELLING_BYTES = 250  # that one takes in addition to its characters
# bytes of all compiled links of a generation, of which there are two: one may have 100 long destinations
HEAVIEST = 24 * 1024 * 1024

Key = tuple[int, str]
log = logging.getLogger(__name__)


class CompiledLinks:
    """The compiled links of one process. `spellings` finds one by host and path as sent, in one look-up.

    A spelling is not removed when its link changes, because the spellings of a link can't be listed. Instead
    its compiled link is marked `is_gone`. All that are not gone are in `young` or `old`, by domain and alias.
    """

    def __init__(self, settings: Settings, role: str | None = None) -> None:
        self.settings = settings
        self.role = role
        self.store = Store(settings)
        # of PostgreSQL on a connection of its own: look-ups that wait must not hide that it is back
        self.changes = Changes(self.store if settings.is_sqlite else DirectReader(settings, VISITS, 1))
        self.spellings: dict[tuple[str, str], CompiledLink] = {}
        self.spelling_bytes = 0
        self.young: dict[Key, CompiledLink] = {}
        self.old: dict[Key, CompiledLink] = {}
        self.weight = 0  # of the young
        self.row_cache = RowCache()
        self.passing = 0
        self.sites: Sites | None = None
        self.epoch = 0
        self.lock = threading.Lock()  # guards what is cached; held briefly, never during a read
        self.polling = threading.Lock()  # guards `changes`; look-ups never wait for it
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

    def find(self, host: str, path: str) -> CompiledLink | None:
        """The compiled link for a host and path, or None if there is none. Raises StoreDown."""
        self.site(host)  # without it nothing is found in memory
        return self.find_cached(host, path) or self.read(host, path)

    def read(self, host: str, path: str) -> CompiledLink | None:
        """The same from the database, for one that is not in memory."""
        epoch, site, alias = self.begin(), self.site(host), alias_key(path)
        row = self.store.link(site.domain_id, alias) if alias is not None and site.has_links else None
        if row is None or alias is None:
            return None
        compiled_link = self.compiled(row)
        self.shelve([(alias, row)], epoch)
        self.keep((host, path), (site.domain_id, alias), compiled_link, epoch)
        return compiled_link

    def find_cached(self, host: str, path: str) -> CompiledLink | None:
        """The same from memory alone; None also if the database would have to be read."""
        compiled_link = self.spellings.get((host, path))
        if compiled_link is not None and not compiled_link.is_gone:
            return compiled_link
        epoch, sites, alias = self.epoch, self.sites, alias_key(path)
        if sites is None or alias is None or not (site := sites.at(host)).has_links:
            return None
        key = (site.domain_id, alias)
        compiled_link = self.known(key)
        if compiled_link is None:
            row = self.row_cache.get(*key)
            if row is None or self.is_passing():
                return self.compiled(row) if row else None
            compiled_link = self.compiled(row)
            self.shelve([(alias, row)], epoch)  # as the newest row: the oldest are dropped first
        self.keep((host, path), key, compiled_link, epoch)
        return compiled_link

    def is_passing(self) -> bool:
        """Whether to cache no compiled link this time. Only every eighth hit of the row cache is compiled for
        keeping, so links with many visits get there."""
        self.passing = (self.passing + 1) % OFTEN
        return self.passing != 0

    def shelve(self, rows: Iterable[tuple[str, Row]], epoch: int) -> bool:
        """Put rows into the row cache by their aliases' keys; False if anything changed since the epoch."""
        with self.lock:
            if self.epoch == epoch:
                for alias, row in rows:
                    self.row_cache.put(alias, row)
            return self.epoch == epoch

    def begin(self) -> int:
        """The epoch that a load belongs to. The first call polls: before, changes could be missed."""
        if not self.polled:
            self.poll()
        return self.epoch

    def known(self, key: Key) -> CompiledLink | None:
        return self.young.get(key) or self.old.get(key)

    def load(self, domain_id: int, alias: str) -> CompiledLink | None:
        row = self.store.link(domain_id, alias)
        return self.compiled(row) if row else None

    def compiled(self, row: Row) -> CompiledLink:
        settings = self.settings
        return compile_link(row, settings.destination_schemes, asks_consent=settings.pixel_consent == "ask")

    def keep(self, spelling: tuple[str, str], key: Key, compiled_link: CompiledLink, epoch: int) -> None:
        """Keep a compiled link, unless anything changed since its load began. (Misses are never kept.)"""
        with self.lock:
            if self.epoch != epoch or compiled_link.is_gone:
                return
            self.old.pop(key, None)
            if key not in self.young and self.is_full(compiled_link):
                self.rotate()
            self.young[key] = compiled_link
            self.weight += compiled_link.weight
            self.spelling_bytes += SPELLING_BYTES + sum(map(len, spelling))
            if len(self.spellings) >= SPELLINGS or self.spelling_bytes > MAX_SPELLING_BYTES:
                self.forget_spellings()  # those in use come back at once, without a load
            self.spellings[spelling] = compiled_link

    def forget_spellings(self) -> None:
        self.spellings, self.spelling_bytes = {}, 0

    def is_full(self, compiled_link: CompiledLink) -> bool:
        return len(self.young) >= GENERATION or self.weight + compiled_link.weight > HEAVIEST

    def rotate(self) -> None:
        """When `young` is full it becomes `old`, and the former `old` is dropped. Spellings are dropped too,
        because they hold references."""
        for compiled_link in self.old.values():
            compiled_link.is_gone = True
        self.old, self.young, self.weight = self.young, {}, 0
        self.forget_spellings()

    def poll(self) -> None:
        """Drop what has changed since the last poll. Raises StoreDown."""
        if not self.polling.acquire(timeout=POLL_WAIT_SECONDS):
            raise StoreDown("another poll waits for its answer")
        try:
            asked = time.monotonic()
            news = self.changes.news()
            if news:
                with self.lock:
                    for change in news:
                        self.drop(change)
                    self.epoch += 1  # last: a load that notes the new epoch finds nothing stale
            self.polled = asked
        finally:
            self.polling.release()

    def drop(self, change: Invalidation) -> None:
        if change.domain_id is not None and change.alias is not None:
            self.drop_plans([(change.domain_id, change.alias)])
            return
        # a whole domain: its host may have changed, too
        self.sites = None
        self.forget_spellings()
        every = change.domain_id is None
        self.row_cache.drop(change.domain_id)
        self.drop_plans([key for key in (*self.young, *self.old) if every or key[0] == change.domain_id])

    def drop_plans(self, keys: list[Key]) -> None:
        for key in keys:
            self.row_cache.remove(*key)
            for generation in (self.young, self.old):
                if compiled_link := generation.pop(key, None):
                    compiled_link.is_gone = True

    def age(self) -> float:
        """Seconds since this process last knew all changes."""
        return time.monotonic() - self.polled

    def close(self) -> None:
        self.changes.reader.close()
        self.store.close()


class RowCacheWarmer(PollLoop):
    """Thread that reads links into the row cache before they are visited.

    It reads the newest links in the order of their ids, as many as the cache holds, and then each new one.
    Older ones would only take the place of others, and where there are very many, reading them all keeps the
    disk from answering visits for minutes after a start.
    """

    def __init__(self, compiled_links: CompiledLinks) -> None:
        super().__init__("row cache warmer", REST_SECONDS, ErrorBoundary("row cache warmer", max_outages=inf))
        self.compiled_links = compiled_links
        self.last = 0  # the highest id that was seen
        self.drops = -1  # none was read yet

    def turn(self) -> bool:
        try:
            has_moved = self.step()
        except StoreDown:  # the poller logs it; visitors of cached links notice nothing
            return False
        if has_moved:
            self.ended.wait(PAUSE_SECONDS)
        return has_moved

    def step(self) -> bool:
        """Put the next links into the row cache. Returns whether there were any."""
        drops = self.compiled_links.row_cache.drops
        if drops != self.drops:
            self.last, self.drops = max(0, self.compiled_links.store.newest() - MAX_LINKS), drops
        epoch = self.compiled_links.begin()
        rows = self.compiled_links.store.links(self.last)
        if rows and self.compiled_links.shelve(rows, epoch):
            self.last = rows[-1][1]["id"]
        return bool(rows)


POLL_SECONDS = 0.2
# where wake-ups arrive; with the time of a poll it is less than a second, in which each change must be seen
IDLE_POLL_SECONDS = 0.7
QUIET_SECONDS = 2.0  # a poll at least so often, also where no file tells of a change

log = logging.getLogger(__name__)


# see docs/decisions/2026-11-25-wake-ups.md
class Poller(WokenLoop):
    """Polls for changes when others wake it, and now and then without that, so that no redirect waits.

    A wake-up can be lost, and only the table is the truth. Where none arrive it polls five times a second. On
    SQLite it looks at the database's file as often, and polls when anything was written.
    """

    topic = LINK_CHANGES

    def __init__(self, compiled_links: CompiledLinks) -> None:
        quiet = quiet_database(compiled_links.store.engine, QUIET_SECONDS)
        super().__init__(
            "link changes", POLL_SECONDS, ErrorBoundary("link changes", max_outages=inf), quiet=quiet
        )
        self.compiled_links = compiled_links
        self.is_down = False

    def rest(self, seconds: float) -> None:
        super().rest(IDLE_POLL_SECONDS if self.hears and not self.is_down else seconds)

    def is_quiet(self) -> bool:
        """Whether nothing was written since the last poll, which is then as good as one made now.

        Never in an outage: it ends with an answer, and no file tells of that.
        """
        asked = time.monotonic()
        is_quiet = not self.is_down and super().is_quiet()
        if is_quiet:
            self.compiled_links.polled = asked
        return is_quiet

    def turn(self) -> None:
        try:
            self.compiled_links.poll()
        except StoreDown as error:
            if not self.is_down:  # once, not five times a second
                log.error("redirects go on from memory, but changes are not seen: %s", error)  # noqa: TRY400
            self.is_down = True
        else:
            self.is_down = False
