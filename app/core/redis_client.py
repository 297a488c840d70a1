"""Connections to Redis. All of them are made here: with short timeouts, and without retries."""

# see docs/decisions/2026-11-20-rates.md
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.core.late_modules import LateModule

if TYPE_CHECKING:
    import redis as redis  # for all that talk to Redis
else:
    redis = LateModule("redis")

# the most that a request waits for a Redis that does not answer
ANSWER_SECONDS = 0.2
PING_SECONDS = 1.0


def connection_options(seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
    """Options of a client that waits `seconds` at most to connect, and as long for each answer."""
    return {
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        "protocol": 2,
        "retry": redis.retry.Retry(redis.backoff.NoBackoff(), 0),
    }


def connect(redis_url: str, seconds: float = ANSWER_SECONDS) -> redis.Redis:
    """A client with a pool of connections, which are opened when they are needed."""
    return redis.Redis.from_url(redis_url, **connection_options(seconds))


def ping(redis_url: str) -> None:
    """Sends Redis a ping. Raises RedisError without an answer."""
    with connect(redis_url, PING_SECONDS) as client:
        client.ping()


def ask_time(redis_url: str) -> float:
    """Redis's clock, in seconds since 1970. Raises RedisError without an answer."""
    with connect(redis_url, PING_SECONDS) as client:
        seconds, microseconds = client.time()
    return float(seconds + microseconds / 1_000_000)
