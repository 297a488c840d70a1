"""Client of ClickHouse: statements over HTTP, by the library clickhouse-connect."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
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
    """One database of ClickHouse. Thread-safe. Every method raises StatisticsUnavailable without an"
    " answer."""

    def __init__(self, address: str) -> None:
        self._url = make_url(address)
        self._clients: dict[int, Any] = {}
        self._lock = threading.Lock()
        self._silent_until = 0.0

    def query(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """Rows of a SELECT; `{name:Type}` in it stands for a value."""
        found = self._ask(ANSWER_SECONDS, "query", statement, parameters=values)
        return [tuple(row) for row in found.result_rows]

    def work(self, statement: str, **settings: Any) -> None:
        """Runs a statement that may take long."""
        self._ask(WORK_SECONDS, "command", statement, settings=settings)

    def insert(self, table: str, columns: dict[str, str], rows: Sequence[Sequence[Any]], token: str) -> None:
        """Inserts rows of one partition, as one part. Again with the same token, it inserts nothing."""
        self._ask(
            WORK_SECONDS,
            "insert",
            table,
            rows,
            column_names=list(columns),
            column_type_names=list(columns.values()),
            settings=settings_of(token),
        )

    def make_database(self) -> None:
        """Creates the database if it is missing."""
        with self._answers():
            client = self._open(WORK_SECONDS, database="default")
            client.command(f"CREATE DATABASE IF NOT EXISTS `{self._url.database}`")
            client.close()

    def _ask(self, seconds: int, method: str, *arguments: Any, **options: Any) -> Any:
        with self._answers():
            return getattr(self._client(seconds), method)(*arguments, **options)

    def _answers(self) -> Answering:
        if time.monotonic() < self._silent_until:
            raise StatisticsUnavailable
        return Answering(self)

    def rest(self) -> None:
        self._silent_until = time.monotonic() + REST_SECONDS

    def _client(self, seconds: int) -> Any:
        if seconds not in self._clients:
            with self._lock:
                if seconds not in self._clients:
                    self._clients[seconds] = self._open(seconds, database=self._url.database)
        return self._clients[seconds]

    def _open(self, seconds: int, *, database: str | None) -> Any:
        import clickhouse_connect

        is_tls = self._url.drivername == "clickhouses"
        return clickhouse_connect.get_client(
            host=self._url.host,
            port=self._url.port or PORTS[self._url.drivername],
            username=self._url.username or "default",
            password=self._url.password or "",
            database=database,
            secure=is_tls,
            connect_timeout=CONNECT_SECONDS,
            send_receive_timeout=seconds,
            query_retries=0,
            compress="lz4",
            autogenerate_session_id=False,  # or a client could not be asked by two threads at once
            client_name="waypost",
        )


class Answering:
    """Turns the errors of the library into StatisticsUnavailable; the log says what they were."""

    def __init__(self, server: ClickHouse) -> None:
        self._server = server

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if error is None or isinstance(error, StatisticsUnavailable) or not isinstance(error, Exception):
            return
        from clickhouse_connect.driver import exceptions

        is_of_connection = isinstance(error, OSError) or type(error).__module__.startswith("urllib3")
        if not is_of_connection and not isinstance(error, exceptions.Error):
            return
        if not isinstance(error, exceptions.DatabaseError) or isinstance(error, exceptions.OperationalError):
            self._server.rest()
        log.warning("ClickHouse: %s", str(error).partition("\n")[0][:500])
        raise StatisticsUnavailable from error


def settings_of(token: str) -> dict[str, Any]:
    return {
        "insert_deduplication_token": token,
        "insert_deduplicate": 1,
        "deduplicate_blocks_in_dependent_materialized_views": 1,
        "async_insert": 0,
    }


@cache
def clickhouse_of(address: str) -> ClickHouse:
    """The client of this process."""
    return ClickHouse(address)
