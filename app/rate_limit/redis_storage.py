"""Counts of rate limits in Redis, which several machines share."""

from __future__ import annotations

from typing import Any

from limits.storage import RedisStorage

from app.core.redis_client import connection_options, redis


class SharedStorage(RedisStorage):
    """The hits of a moving window are in a list, the newest first."""

    def __init__(self, redis_url: str) -> None:
        super().__init__(redis_url, wrap_exceptions=False, **connection_options())

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        return (redis.RedisError, OSError)

    def remove_newest(self, key: str) -> None:
        """Take back the last hit of a moving window."""
        client: Any = self.get_connection()  # its type names few of Redis's commands
        client.lpop(self.prefixed_key(key))

    def close(self) -> None:
        client: Any = self.get_connection()
        client.close()
