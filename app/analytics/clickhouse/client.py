"""Client of ClickHouse: statements over HTTP, by the library clickhouse-connect."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import make_url

from app.core.errors import Busy, FieldError
from app.i18n.messages import lazy_gettext as _l

CONNECT_SECONDS = 2
ANSWER_SECONDS = 15  # of a page's query; the worker's statements may take longer
WORK_SECONDS = 300
REST_SECONDS = 2.0  # after no answer, no other query waits for one
PORTS = {"clickhouse": 8123, "clickhouses": 8443}

log = logging.getLogger(__name__)


class StatisticsUnavailable(Busy):
    """ClickHouse gives no answer. Links and their counters do not need it."""

    def __init__(self) -> None:
        text = _l("Statistics are not available right now. No click is lost; try again in a moment.")
        super().__init__(int(REST_SECONDS), FieldError(text, "statistics_unavailable"))


class ClickHouse:
    """One database of ClickHouse. Thread-safe. Every method raises StatisticsUnavailable without an
    answer."""

    def __init__(self, address: str) -> None:
        self._url = make_url(address)
        self._clients: dict[int, Any] = {}
        self._lock = threading.Lock()
        self._silent_until = 0.0

    @property
    def name(self) -> str:
        return self._url.database or "default"

    def query(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """Rows of a SELECT; `{name:Type}` in it stands for a value."""
        found = self._ask(ANSWER_SECONDS, "query", statement, parameters=values)
        return [tuple(row) for row in found.result_rows]

    def work(self, statement: str, **settings: Any) -> None:
        """Runs a statement that may take long."""
        self._ask(WORK_SECONDS, "command", statement, settings=settings)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Any], token: str) -> None:
        """Inserts rows of one partition, as one part. Again with the same token, it inserts nothing."""
        self._ask(
            WORK_SECONDS,
            "insert",
            table,
            rows,
            column_names=columns,
            settings={
                "insert_deduplication_token": token,
                "insert_deduplicate": 1,
                "deduplicate_blocks_in_dependent_materialized_views": 1,
                "async_insert": 0,
            },
        )

    def make_database(self) -> None:
        """Creates the database if it is missing."""
        with self._answers():
            client = self._open(WORK_SECONDS, database="default")
            client.command(f"CREATE DATABASE IF NOT EXISTS `{self.name}`")
            client.close()

    def _ask(self, seconds: int, method: str, *arguments: Any, **options: Any) -> Any:
        with self._answers():
            return getattr(self._client(seconds), method)(*arguments, **options)

    @contextmanager
    def _answers(self) -> Iterator[None]:
        """Turns the errors of the library into StatisticsUnavailable; the log says what they were."""
        from clickhouse_connect.driver import exceptions

        if time.monotonic() < self._silent_until:
            raise StatisticsUnavailable
        try:
            yield
        except Exception as error:
            is_of_connection = isinstance(error, OSError) or type(error).__module__.startswith("urllib3")
            if not is_of_connection and not isinstance(error, exceptions.Error):
                raise
            is_refusal = isinstance(error, exceptions.DatabaseError)
            if not is_refusal or isinstance(error, exceptions.OperationalError):
                self._silent_until = time.monotonic() + REST_SECONDS
            log.warning("ClickHouse: %s", str(error).partition("\n")[0][:500])
            raise StatisticsUnavailable from error

    def _client(self, seconds: int) -> Any:
        if seconds not in self._clients:
            with self._lock:
                if seconds not in self._clients:
                    self._clients[seconds] = self._open(seconds, database=self._url.database)
        return self._clients[seconds]

    def _open(self, seconds: int, *, database: str | None) -> Any:
        import clickhouse_connect

        return clickhouse_connect.get_client(
            host=self._url.host,
            port=self._url.port or PORTS[self._url.drivername],
            username=self._url.username or "default",
            password=self._url.password or "",
            database=database,
            secure=self._url.drivername == "clickhouses",
            connect_timeout=CONNECT_SECONDS,
            send_receive_timeout=seconds,
            query_retries=0,
            compress="lz4",
            autogenerate_session_id=False,  # or a client could not be asked by two threads at once
            client_name="waypost",
        )


@cache
def clickhouse_of(address: str) -> ClickHouse:
    """The client of this process."""
    return ClickHouse(address)
