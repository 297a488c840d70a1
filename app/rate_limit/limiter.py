"""Rate limits, counted by all processes together: in Redis, else in a file in the data directory.

Keys of counts are stored as keyed hashes that expire: no IP address is ever written.
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
from limits.storage import MemoryStorage, Storage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.core.config import Settings
from app.core.secret_keys.ring import current_keys
from app.rate_limit.file_storage import FILE, FileStorage, SharedStorage

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

PING_SECONDS = 1.0


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


class RateLimiter:
    """The counts of one instance. While their storage fails, each process counts alone and logs that.

    Tries are counted in a moving window. Requests, of which there may be thousands, are counted in a fixed
    one, which takes one row for each client.
    """

    def __init__(self, settings: Settings) -> None:
        self.storage: FileStorage | SharedStorage = (
            SharedStorage(settings.redis_url, wrap_exceptions=False)
            if settings.redis_url
            else FileStorage(settings.data_dir / FILE)
        )
        self.shared = Windows(self.storage)

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
        try:
            self.storage.remove_newest(limit.key_for(self.hashed(who)))
        except self.storage.base_exceptions as error:
            log.warning("an attempt that was not made stays counted: %s", error)

    def close(self) -> None:
        """Closes the file storage, where it is one."""
        if isinstance(self.storage, FileStorage):
            self.storage.close()

    def hashed(self, who: tuple[str, ...]) -> str:
        text = "\0".join(who).encode("utf-8", "surrogatepass")
        key = hashlib.sha256(current_keys().current().encode()).digest()
        return hashlib.blake2b(text, key=key, digest_size=16).hexdigest()

    def ask(self, question: Callable[[Windows], Answer]) -> Answer:
        try:
            return question(self.shared)
        except self.storage.base_exceptions as error:
            log.warning("limits are counted by this process alone, for the shared count fails: %s", error)
            return question(self.alone)


def seconds_until(moment: float) -> int:
    return max(1, ceil(moment - time.time()))


def ping(redis_url: str) -> None:
    """Sends Redis a ping. Raises RedisError without an answer."""
    with connect_once(redis_url) as client:
        client.ping()


def ask_time(redis_url: str) -> float:
    """Redis's clock, in seconds since 1970. Raises RedisError without an answer."""
    with connect_once(redis_url) as client:
        seconds, microseconds = client.time()
    return float(seconds + microseconds / 1_000_000)


def connect_once(redis_url: str) -> Redis:
    """A new connection with timeouts and without retries."""
    timeouts = {"socket_timeout": PING_SECONDS, "socket_connect_timeout": PING_SECONDS}
    return Redis.from_url(redis_url, protocol=2, retry=Retry(NoBackoff(), 0), **timeouts)


def network_of(address: str) -> str:
    """The addresses that one client can easily use: an IPv4 address, or an IPv6 network of 64 bits."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)
