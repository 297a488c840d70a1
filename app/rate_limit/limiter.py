"""Rate limits, counted by all processes together: in Redis, else in a table (`storages.py`).

A storage that does not answer has a moment, and then is left alone for some seconds: each process counts for
itself meanwhile. Keys of counts are keyed hashes that expire: no IP address is ever written.
"""

# see docs/decisions/2026-11-20-rates.md
from __future__ import annotations

import hashlib
import ipaddress
import logging
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from math import ceil
from typing import NamedTuple, TypeVar

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from app.core.config import Settings
from app.core.secret_keys.ring import current_keys
from app.rate_limit.storages import SharedStorage, TableStorage

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
AnyStorage = SharedStorage | TableStorage | MemoryStorage

DOWN_SECONDS = 5.0  # a storage that failed is left alone
MAX_ENDS = 10_000
MAX_ALONE = 10_000  # windows that a process counts alone; beyond it all are forgotten


def at_most(tries: int, *, minutes: int, name: str) -> RateLimitItem:
    """A limit of `tries` in any `minutes`. The name keeps counts of different limits apart."""
    return RateLimitItemPerSecond(tries, minutes * 60, namespace=name)


class WindowState(NamedTuple):
    """What a limit has left for one client, and in how many seconds its window ends."""

    remaining: int
    seconds: int
    is_over: bool = False


class RateLimiter:
    """The counts of one instance. While their storage does not answer, each process counts alone.

    Tries are counted in a moving window. Requests, of which there may be thousands, are counted in a fixed
    one, which takes one number for each client.
    """

    def __init__(self, settings: Settings) -> None:
        redis_url = settings.redis_url
        self.storage = SharedStorage(redis_url) if redis_url else TableStorage(settings)
        self.ends: dict[str, float] = {}  # of fixed windows, which no other process changes
        self.down_until = 0.0

    @cached_property
    def alone(self) -> MemoryStorage:
        """Made when it is needed: the library starts a thread for this storage."""
        return MemoryStorage()

    def take(self, limit: RateLimitItem, *who: str) -> int:
        """Counts one try. Returns 0 where it is allowed, else the seconds to wait."""
        marks = self.hashed(who)
        if self.ask(lambda storage: MovingWindowRateLimiter(storage).hit(limit, marks)):
            return 0
        return self.look(limit, *who).seconds

    def take_each(self, counts: Iterable[tuple[RateLimitItem, str]]) -> int:
        """Counts one try by several limits, up to the first that refuses. Returns as `take` does."""
        return next((seconds for limit, who in counts if (seconds := self.take(limit, who))), 0)

    def look(self, limit: RateLimitItem, *who: str) -> WindowState:
        """What is left of a moving window, without counting."""
        marks = self.hashed(who)
        stats = self.ask(lambda storage: MovingWindowRateLimiter(storage).get_window_stats(limit, marks))
        return WindowState(stats.remaining, seconds_until(stats.reset_time))

    def count_request(self, limit: RateLimitItem, *who: str) -> WindowState:
        """Counts one request in a fixed window, which begins with the first one."""
        key = limit.key_for(self.hashed(who))

        def count(storage: AnyStorage) -> WindowState:
            number = storage.incr(key, limit.get_expiry())
            end = self.ends.get(key, 0.0)
            if end <= time.time():
                if len(self.ends) >= MAX_ENDS:
                    self.ends.clear()
                end = self.ends[key] = storage.get_expiry(key)
            return WindowState(max(0, limit.amount - number), seconds_until(end), number > limit.amount)

        return self.ask(count)

    def reset(self, limit: RateLimitItem, *who: str) -> None:
        """Clears the tries so far, after a successful one."""
        marks = self.hashed(who)
        self.ask(lambda storage: MovingWindowRateLimiter(storage).clear(limit, marks))

    def give_back(self, limit: RateLimitItem, *who: str) -> None:
        """Takes back the last try, when nothing was checked. One that this process counted alone stays."""
        key = limit.key_for(self.hashed(who))

        def remove(storage: AnyStorage) -> None:
            if isinstance(storage, MemoryStorage):
                log.warning("an attempt that was not made stays counted")
            else:
                storage.remove_newest(key)

        self.ask(remove)

    def close(self) -> None:
        self.storage.close()

    def hashed(self, who: tuple[str, ...]) -> str:
        text = "\0".join(who).encode("utf-8", "surrogatepass")
        key = hashlib.sha256(current_keys().current().encode()).digest()
        return hashlib.blake2b(text, key=key, digest_size=16).hexdigest()

    def ask(self, question: Callable[[AnyStorage], Answer]) -> Answer:
        """The answer of the shared storage; of this process's own counts, for a while after it failed."""
        if time.monotonic() >= self.down_until:
            try:
                return question(self.storage)
            except self.storage.base_exceptions as error:
                log.warning("rate limits are counted by this process alone for %d s: %s", DOWN_SECONDS, error)
                self.down_until = time.monotonic() + DOWN_SECONDS
        if len(self.alone.storage) + len(self.alone.events) >= MAX_ALONE:
            self.alone.reset()
        return question(self.alone)


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
