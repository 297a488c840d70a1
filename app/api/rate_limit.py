"""Rate limit of the API, and the headers that report it.

Each key has a fixed window of a minute. The headers `RateLimit` and `RateLimit-Policy` follow
draft-ietf-httpapi-ratelimit-headers-10.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import Response, g
from limits import RateLimitItem

from app.core.errors import FieldError, RateLimited
from app.rate_limit.limiter import at_most, network_of
from app.web.application import rate_limiter, settings

WRONG_KEYS = at_most(60, minutes=1, name="wrong-keys")


@dataclass(frozen=True)
class Quota:
    """What a policy has left for a client, and in how many seconds its window resets."""

    policy: str
    item: RateLimitItem
    remaining: int
    reset: int
    is_over: bool = False

    def require_room(self) -> None:
        if self.is_over:
            text = f"At most {self.item.amount:,} requests a minute; try again in {self.reset} seconds."
            raise RateLimited(self.reset, FieldError(text, "rate_limited"))

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Policy": f'"{self.policy}";q={self.item.amount};w={self.item.get_expiry()}',
            "RateLimit": f'"{self.policy}";r={self.remaining};t={self.reset}',
        }


def count_request(key_id: int) -> Quota | None:
    """Counts one request of this key; None if there is no limit."""
    most = settings().api_rate_limit
    if not most:
        return None
    limit = at_most(most, minutes=1, name="api-key")
    return Quota("key", limit, *rate_limiter().count_request(limit, str(key_id)))


def count_wrong_key(address: str) -> Quota:
    """Counts one wrong key from this address."""
    wait = rate_limiter().take(WRONG_KEYS, network_of(address))
    return Quota("wrong-keys", WRONG_KEYS, 0, wait, is_over=True) if wait else find_quota(address)


def find_quota(address: str) -> Quota:
    """What this address has left for wrong keys, without counting."""
    return Quota("wrong-keys", WRONG_KEYS, *rate_limiter().look(WRONG_KEYS, network_of(address)))


def report(quota: Quota | None) -> Quota | None:
    """Stores the quota that this request's response reports in its headers."""
    g.quota = quota
    return quota


def add_headers(response: Response) -> Response:
    quota: Quota | None = g.get("quota")
    response.headers.update(quota.headers() if quota else {})
    return response
