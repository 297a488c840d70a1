"""Carriers of wake-ups: Redis where it is set, else PostgreSQL's NOTIFY. SQLite alone has none."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Any, Protocol

from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import SQLAlchemyError

from app.core.config import Settings
from app.core.postgresql import psycopg
from app.core.redis_client import connect, redis

CHANNEL = "waypost"
CONNECT_SECONDS = 5
ANSWER_SECONDS = 1.0  # that Redis has to take a wake-up
# a cut cable is noticed within so long; until then the polls alone find what is new
SILENCE_MS = 10_000


class CarrierDown(Exception):
    """Wake-ups can't be sent or heard now."""


class Subscription(Protocol):
    """What one process hears."""

    def wait(self, seconds: float) -> list[str]:
        """The topics that were heard, at once if there are any; waits up to `seconds`. Raises CarrierDown."""

    def close(self) -> None: ...


class Carrier(Protocol):
    """Sends wake-ups from one thread, and makes subscriptions for others."""

    def publish(self, topics: Collection[str]) -> None:
        """Sends a wake-up for each topic. Raises CarrierDown."""

    def subscribe(self) -> Subscription:
        """Begins to hear all topics. Raises CarrierDown."""


def make_carrier(settings: Settings) -> Carrier | None:
    """The carrier of these settings, without a connection yet; None where there is none."""
    if settings.redis_url:
        return RedisCarrier(settings.redis_url)
    return None if settings.is_sqlite else PostgresCarrier(settings.session_url)


class PostgresCarrier:
    """NOTIFY on a connection of its own, in transactions that never wait for the disk.

    In the transaction of a change it would hold a lock of the whole database until that one is on disk.
    """

    def __init__(self, database_url: str) -> None:
        arguments = {
            "connect_timeout": CONNECT_SECONDS,
            "tcp_user_timeout": SILENCE_MS,
            "keepalives_idle": SILENCE_MS // 1000,
            "prepare_threshold": None,  # behind PgBouncer each transaction may have another server
            "autocommit": True,
        }
        self.engine = create_engine(
            database_url, poolclass=NullPool, connect_args=arguments, hide_parameters=True
        )
        self.sending: psycopg.Connection[Any] | None = None

    def connect(self) -> psycopg.Connection[Any]:
        try:
            connection = self.engine.raw_connection()
            connection.detach()
        except (SQLAlchemyError, psycopg.Error) as error:
            raise CarrierDown(str(error)) from error
        made: psycopg.Connection[Any] = connection.dbapi_connection  # type: ignore[assignment]  # psycopg is the only driver
        return made

    def publish(self, topics: Collection[str]) -> None:
        calls = "; ".join(f"NOTIFY {CHANNEL}, '{topic}'" for topic in topics)
        try:
            self.sending = self.sending or self.connect()
            self.sending.execute(f"BEGIN; SET LOCAL synchronous_commit TO off; {calls}; COMMIT".encode())
        except psycopg.Error as error:
            if self.sending is not None:
                with suppress(psycopg.Error):
                    self.sending.close()
                self.sending = None
            raise CarrierDown(str(error)) from error

    def subscribe(self) -> Subscription:
        connection = self.connect()
        try:
            connection.execute(f"LISTEN {CHANNEL}".encode())
        except psycopg.Error as error:
            connection.close()
            raise CarrierDown(str(error)) from error
        return PostgresSubscription(connection)


class PostgresSubscription:
    """LISTEN on a connection of its own."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def wait(self, seconds: float) -> list[str]:
        try:
            return [each.payload for each in self.connection.notifies(timeout=seconds, stop_after=1)]
        except psycopg.Error as error:
            raise CarrierDown(str(error)) from error

    def close(self) -> None:
        self.connection.close()


class RedisCarrier:
    """Redis's publish and subscribe, which store nothing."""

    def __init__(self, redis_url: str) -> None:
        self.client = connect(redis_url, ANSWER_SECONDS)

    def publish(self, topics: Collection[str]) -> None:
        try:
            for topic in topics:
                self.client.publish(CHANNEL, topic)
        except (redis.RedisError, OSError) as error:
            raise CarrierDown(str(error)) from error

    def subscribe(self) -> Subscription:
        heard = self.client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
        try:
            heard.subscribe(CHANNEL)
        except (redis.RedisError, OSError) as error:
            heard.close()
            raise CarrierDown(str(error)) from error
        return RedisSubscription(heard)


class RedisSubscription:
    """A subscription to one channel of Redis."""

    def __init__(self, heard: Any) -> None:  # the library's PubSub is untyped
        self.heard = heard

    def wait(self, seconds: float) -> list[str]:
        try:
            message = self.heard.get_message(timeout=seconds)
        except (redis.RedisError, OSError) as error:
            raise CarrierDown(str(error)) from error
        return [message["data"].decode("utf-8", "replace")] if message else []

    def close(self) -> None:
        self.heard.close()
