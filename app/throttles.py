"""How often may somebody try? Counted in all processes together: in Redis, else in a file beside the data.

What is counted by is stored as a keyed hash that expires: no address of a visitor is ever written.
"""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import time
from collections.abc import Callable
from math import ceil
from typing import TypeVar

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import MemoryStorage, RedisStorage, Storage
from limits.strategies import MovingWindowRateLimiter
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.config import Settings
from app.secret_keys.ring import keys
from app.throttle_storage import FileStorage

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

PING_SECONDS = 1.0


def at_most(tries: int, *, minutes: int, name: str) -> RateLimitItem:
    """`tries` in any `minutes`; the name keeps counts of different things apart."""
    return RateLimitItemPerSecond(tries, minutes * 60, namespace=name)


class Throttles:
    """The counts of one instance. While their storage fails, each process counts for itself and says so."""

    def __init__(self, settings: Settings) -> None:
        self.storage: Storage = (
            RedisStorage(settings.redis_url, wrap_exceptions=False)
            if settings.redis_url
            else FileStorage(settings.data_dir / "throttles.db")
        )
        self.shared = MovingWindowRateLimiter(self.storage)
        self._alone: MovingWindowRateLimiter | None = None

    def take(self, limit: RateLimitItem, *who: str) -> int:
        """Count one try. 0: go on; else it is one too many, and this many seconds are left to wait."""
        marks = self.hashed(who)
        if self.ask(lambda limiter: limiter.hit(limit, marks)):
            return 0
        reset = self.ask(lambda limiter: limiter.get_window_stats(limit, marks).reset_time)
        return max(1, ceil(reset - time.time()))

    def forgive(self, limit: RateLimitItem, *who: str) -> None:
        """Forget the tries so far: this one was right."""
        marks = self.hashed(who)
        self.ask(lambda limiter: limiter.clear(limit, marks))

    def close(self) -> None:
        """Close the file, where it is one."""
        if isinstance(self.storage, FileStorage):
            self.storage.close()

    def hashed(self, who: tuple[str, ...]) -> str:
        text = "\0".join(who).encode("utf-8", "surrogatepass")
        key = hashlib.sha256(keys().current().encode()).digest()
        return hashlib.blake2b(text, key=key, digest_size=16).hexdigest()

    def ask(self, question: Callable[[MovingWindowRateLimiter], Answer]) -> Answer:
        try:
            return question(self.shared)
        except self.storage.base_exceptions as error:
            log.warning("tries are counted by this process alone, for the shared count fails: %s", error)
            return question(self.alone)

    @property
    def alone(self) -> MovingWindowRateLimiter:
        if self._alone is None:
            self._alone = MovingWindowRateLimiter(MemoryStorage())
        return self._alone


def ping(redis_url: str) -> None:
    """Ask Redis once, on a connection of its own, for a bounded time. Raises RedisError without an answer."""
    timeouts = {"socket_timeout": PING_SECONDS, "socket_connect_timeout": PING_SECONDS}
    with Redis.from_url(redis_url, protocol=2, retry=Retry(NoBackoff(), 0), **timeouts) as client:
        client.ping()


def network_of(address: str) -> str:
    """What one client can easily speak from: an IPv4 address, or an IPv6 network of 64 bits."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)
