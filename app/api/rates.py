"""How many requests may a key make, and how does a client learn what is left?

A fixed window of a minute for each key, counted for all processes together (in Redis, else in a file);
`RateLimit` and `RateLimit-Policy` as in draft-ietf-httpapi-ratelimit-headers-10.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from math import ceil

from flask import Flask, Response, current_app, g
from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from app.errors import FieldError, TooMany
from app.throttles import Throttles, at_most, network_of

log = logging.getLogger(__name__)

WRONG_KEYS = at_most(60, minutes=1, name="wrong-keys")
EXTENSION = "waypost-api-rates"


@dataclass(frozen=True)
class Count:
    """What a policy has left for somebody, and in how many seconds it begins anew."""

    policy: str
    item: RateLimitItem
    remaining: int
    reset: int
    is_over: bool = False

    def require_room(self) -> None:
        if self.is_over:
            text = f"At most {self.item.amount:,} requests a minute; try again in {self.reset} seconds."
            raise TooMany(self.reset, FieldError(text, "rate_limited"))

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Policy": f'"{self.policy}";q={self.item.amount};w={self.item.get_expiry()}',
            "RateLimit": f'"{self.policy}";r={self.remaining};t={self.reset}',
        }


class Rates:
    """The API's counts. While their storage fails, this process counts alone and says so."""

    def __init__(self, throttles: Throttles, most: int) -> None:
        self.throttles = throttles
        self.each_key = RateLimitItemPerMinute(most, namespace="api-key") if most else None
        self.shared = FixedWindowRateLimiter(throttles.storage)
        self.alone = FixedWindowRateLimiter(MemoryStorage())

    def of_key(self, key_id: int) -> Count | None:
        """Count one request of this key; None where there is no limit."""
        if self.each_key is None:
            return None
        try:
            return take(self.shared, self.each_key, str(key_id))
        except self.throttles.storage.base_exceptions as error:
            log.warning("requests are counted by this process alone, for the shared count fails: %s", error)
            return take(self.alone, self.each_key, str(key_id))

    def of_wrong_key(self, address: str) -> Count:
        """Count one wrong key from this address."""
        wait = self.throttles.take(WRONG_KEYS, network_of(address))
        return Count("wrong-keys", WRONG_KEYS, 0, wait, is_over=True) if wait else self.left(address)

    def left(self, address: str) -> Count:
        """What this address has left, without counting."""
        marks = self.throttles.hashed((network_of(address),))
        stats = self.throttles.ask(lambda limiter: limiter.get_window_stats(WRONG_KEYS, marks))
        return Count("wrong-keys", WRONG_KEYS, stats.remaining, until(stats.reset_time))


def take(limiter: FixedWindowRateLimiter, item: RateLimitItem, who: str) -> Count:
    is_over = not limiter.hit(item, who)
    stats = limiter.get_window_stats(item, who)
    return Count("key", item, stats.remaining, until(stats.reset_time), is_over)


def until(moment: float) -> int:
    return max(1, ceil(moment - time.time()))


def init_app(app: Flask) -> None:
    settings = app.config["WAYPOST"]
    app.extensions[EXTENSION] = Rates(Throttles(settings), settings.api_rate_limit)


def rates() -> Rates:
    found: Rates = current_app.extensions[EXTENSION]
    return found


def note(count: Count | None) -> Count | None:
    """Remember what this request's answer tells."""
    g.rate = count
    return count


def add_headers(response: Response) -> Response:
    count: Count | None = g.get("rate")
    response.headers.update(count.headers() if count else {})
    return response
