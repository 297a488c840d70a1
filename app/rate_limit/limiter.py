"""Rate limits, counted by all processes together: in Redis, else in PostgreSQL, else in a file.

A storage that does not answer is not waited for: a circuit breaker keeps requests away, and meanwhile the
file in the data directory counts for this machine, or at worst the process for itself.
Keys of counts are stored as keyed hashes that expire: no IP address is ever written.
"""

# see docs/decisions/2026-11-20-rates.md
# see docs/decisions/2026-11-25-engines-that-do-not-answer.md
from __future__ import annotations

import hashlib
import ipaddress
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from math import ceil
from typing import NamedTuple, TypeVar

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import MemoryStorage, Storage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter

from app.core.circuit_breaker import CircuitBreaker
from app.core.config import Settings
from app.core.secret_keys.ring import current_keys
from app.rate_limit.file_storage import FILE, FileStorage
from app.rate_limit.postgres_storage import DatabaseStorage
from app.rate_limit.redis_storage import SharedStorage

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
Shared = SharedStorage | DatabaseStorage

PROBE, PROBE_EXPIRY = "probe", 60  # a count that is of nothing


def at_most(tries: int, *, minutes: int, name: str) -> RateLimitItem:
    """A limit of `tries` in any `minutes`. The name keeps counts of different limits apart."""
    return RateLimitItemPerSecond(tries, minutes * 60, namespace=name)


class WindowState(NamedTuple):
    """What a limit has left for one client, and in how many seconds its window ends."""

    remaining: int
    seconds: int
    is_over: bool = False


class Windows:
    """Both kinds of windows in one storage."""

    def __init__(self, storage: Storage) -> None:
        self.moving, self.fixed = MovingWindowRateLimiter(storage), FixedWindowRateLimiter(storage)


class NoStorage(Exception):
    """No storage of counts answers."""


class Counts:
    """One storage of counts, behind a circuit breaker."""

    def __init__(self, name: str, storage: Shared | FileStorage, meanwhile: str) -> None:
        self.storage, self.windows = storage, Windows(storage)
        self.breaker = CircuitBreaker(name, self.probe, storage.base_exceptions, meanwhile)

    def probe(self) -> None:
        """Writes: a storage that is full, or takes no writes, may answer to all else."""
        self.storage.incr(PROBE, PROBE_EXPIRY)

    def close(self) -> None:
        self.breaker.close()
        self.storage.close()


def places(settings: Settings) -> Iterator[Counts]:
    """Where this instance counts: the first that answers is asked."""
    by_machine = "so limits are counted by each machine alone"
    if settings.redis_url:
        yield Counts("Redis", SharedStorage(settings.redis_url), by_machine)
    elif not settings.is_sqlite:
        yield Counts("PostgreSQL's table of rate limits", DatabaseStorage(settings.database_url), by_machine)
    file = FileStorage(settings.data_dir / FILE)
    yield Counts("The file of rate limits", file, "so limits are counted by this process alone")


class RateLimiter:
    """The counts of one instance. While no storage answers, each process counts alone.

    Tries are counted in a moving window. Requests, of which there may be thousands, are counted in a fixed
    one, which takes one row for each client.
    """

    def __init__(self, settings: Settings) -> None:
        self.places = list(places(settings))

    @cached_property
    def alone(self) -> Windows:
        """Made when it is needed: the library starts a thread for this storage."""
        return Windows(MemoryStorage())

    def take(self, limit: RateLimitItem, *who: str) -> int:
        """Counts one try. Returns 0 where it is allowed, else the seconds to wait."""
        marks = self.hashed(who)
        if self.ask(lambda windows: windows.moving.hit(limit, marks)):
            return 0
        return self.look(limit, *who).seconds

    def take_each(self, counts: Iterable[tuple[RateLimitItem, str]]) -> int:
        """Counts one try by several limits, up to the first that refuses. Returns as `take` does."""
        return next((seconds for limit, who in counts if (seconds := self.take(limit, who))), 0)

    def look(self, limit: RateLimitItem, *who: str) -> WindowState:
        """What is left of a moving window, without counting."""
        marks = self.hashed(who)
        stats = self.ask(lambda windows: windows.moving.get_window_stats(limit, marks))
        return WindowState(stats.remaining, seconds_until(stats.reset_time))

    def count_request(self, limit: RateLimitItem, *who: str) -> WindowState:
        """Counts one request in a fixed window, which begins with the first one."""
        marks = self.hashed(who)

        def count(windows: Windows) -> WindowState:
            is_over = not windows.fixed.hit(limit, marks)
            stats = windows.fixed.get_window_stats(limit, marks)
            return WindowState(stats.remaining, seconds_until(stats.reset_time), is_over)

        return self.ask(count)

    def reset(self, limit: RateLimitItem, *who: str) -> None:
        """Clears the tries so far, after a successful one."""
        marks = self.hashed(who)
        self.ask(lambda windows: windows.moving.clear(limit, marks))

    def give_back(self, limit: RateLimitItem, *who: str) -> None:
        """Takes back the last try, when nothing was checked. One that this process counted alone stays."""
        key = limit.key_for(self.hashed(who))
        try:
            self.ask_storages(lambda counts: counts.storage.remove_newest(key))
        except NoStorage:
            log.warning("an attempt that was not made stays counted")

    def close(self) -> None:
        for counts in self.places:
            counts.close()

    def hashed(self, who: tuple[str, ...]) -> str:
        text = "\0".join(who).encode("utf-8", "surrogatepass")
        key = hashlib.sha256(current_keys().current().encode()).digest()
        return hashlib.blake2b(text, key=key, digest_size=16).hexdigest()

    def ask(self, question: Callable[[Windows], Answer]) -> Answer:
        """The answer of the first storage that gives one, else of this process's own counts."""
        try:
            return self.ask_storages(lambda counts: question(counts.windows))
        except NoStorage:
            return question(self.alone)

    def ask_storages(self, question: Callable[[Counts], Answer]) -> Answer:
        """The answer of the first storage that gives one. Raises NoStorage where none does."""
        for counts in self.places:
            if counts.breaker.admits():
                try:
                    return question(counts)
                except counts.storage.base_exceptions as error:
                    counts.breaker.trip(error)
        raise NoStorage


def seconds_until(moment: float) -> int:
    return max(1, ceil(moment - time.time()))


def network_of(address: str) -> str:
    """The addresses that one client can easily use: an IPv4 address, or an IPv6 network of 64 bits."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)
