"""Connections to PostgreSQL that never wait longer than their `Patience` allows.

This module is loaded with the first connection: psycopg takes 9 MB, which an instance on SQLite does without.
"""

# see docs/decisions/2026-11-25-hanging-databases.md
from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.pq import ExecStatus, TransactionStatus

from app.core.patience import COMMANDS, SOCKET, Patience, outage

IDLE, COMMAND_OK = TransactionStatus.IDLE, ExecStatus.COMMAND_OK
CANCEL_SECONDS = 0.5  # for the server to hear that an answer is not waited for any more
CHECK_SECONDS = 0.1  # how often a thread that waits looks whether it should

T = TypeVar("T")


class Silent(psycopg.OperationalError):
    """The server has given no answer in time, or is known to give none now."""


class Connection(psycopg.Connection[Any]):
    """A connection that never waits longer than its Patience allows."""

    patience = COMMANDS

    def wait(self, gen: Any, interval: float = CHECK_SECONDS, timeout: float | None = None) -> Any:
        try:
            return super().wait(self.within(gen), interval, timeout)
        except Silent:
            if self.patience.starts_outage:
                outage.begin()
            self.abandon()
            raise

    def within(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """The steps of `gen`, as long as this connection may wait for them."""
        if self.is_hopeless():
            raise Silent("the database gave no answer a moment ago")
        began = time.monotonic()
        try:
            state = next(gen)
            while True:
                ready = yield state
                if not ready and self.is_late(began):
                    raise Silent("the database has given no answer in time")
                state = gen.send(ready)
        except StopIteration as ended:
            found: T = ended.value
            return found

    def is_late(self, began: float) -> bool:
        silence = self.patience.silence
        return self.is_hopeless() or (silence is not None and time.monotonic() - began > silence)

    def is_hopeless(self) -> bool:
        return outage.is_on and self.patience.heeds_outage

    def abandon(self) -> None:
        """Closes the connection. A server that is only slow is told, or its process would work on for nobody:
        one that waits for a lock would be joined by another at each try."""
        if not outage.is_on and self.patience.is_cancelled and self.patience.statement is None:
            with suppress(psycopg.Error):  # it may hang, which is why this is done
                self.cancel_safe(timeout=CANCEL_SECONDS)
        self.close()

    # psycopg offers no public place for what begins a transaction; tests/core/test_postgresql.py fails when a
    # new version no longer asks here
    def _start_query(self) -> PQGen[None]:
        """Begins a transaction where there is none, with its limits in the same message."""
        is_begun = self.autocommit or self.pgconn.transaction_status != IDLE
        if is_begun or self.pgconn.pipeline_status:
            yield from super()._start_query()
            for command in () if is_begun else self.patience.settings():
                yield from self._exec_command(command)  # in a pipeline, which waits for nothing
            return
        self._check_connection_ok()
        self.pgconn.send_query(b"; ".join([self._get_tx_start_command(), *self.patience.settings()]))
        for result in (yield from execute(self.pgconn)):
            if result.status != COMMAND_OK:
                raise error_from_result(result)


def open_connection(patience: Patience, *arguments: Any, **named: Any) -> Connection:
    """A new connection. Raises psycopg.OperationalError, Silent where the server is known to hang."""
    if outage.is_on and patience.heeds_outage:
        raise Silent("the database gave no answer a moment ago")
    limits = {**SOCKET, "connect_timeout": patience.connect, "client_encoding": "utf8"}
    try:
        found = Connection.connect(*arguments, **{**limits, **named})
    except psycopg.errors.ConnectionTimeout:
        if patience.starts_outage:
            outage.begin()
        raise
    found.patience = patience
    return found
