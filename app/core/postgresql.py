"""How long this instance waits for PostgreSQL, for every connection that it opens.

A server that is frozen, or whose cable is cut, reports no error: its system, or nobody, takes what is sent,
and its own time limits do not run. So three limits hold together:

- **The client's.** `Connection.wait` gives up a statement that has brought no answer for `silence` seconds,
  and closes the connection.
- **The server's.** `statement`, `lock` and `idle` are set with each transaction, in the message that begins
  it: they cost no round trip, and PgBouncer in transaction mode can't lose them or carry them to others.
- **The system's.** Keepalives and `tcp_user_timeout` end a connection whose packets come back no more.
"""

# see docs/decisions/2026-11-25-hanging-databases.md
from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.pq import ExecStatus, TransactionStatus
from sqlalchemy import Engine, event

IDLE, COMMAND_OK = TransactionStatus.IDLE, ExecStatus.COMMAND_OK
OPTION = "patience"  # the execution option of an engine that holds its Patience
# of the system: a dead peer is noticed after 10 s of quiet and 15 s of tries
SOCKET = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
CANCEL_SECONDS = 0.5  # for the server to hear that an answer is not waited for any more
CHECK_SECONDS = 0.1  # how often a thread that waits looks whether it should

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Patience:
    """The limits of one kind of work, in seconds; None is no limit. psycopg takes 2 s at least to connect.

    `starts_outage`: its silence means that the server hangs, for all of this process. `heeds_outage`: it asks
    nothing while the server hangs. `is_cancelled`: the server is told what is not waited for any more, where
    it has no limit of its own for a statement.
    """

    connect: int
    silence: float | None = None
    statement: float | None = None
    lock: float | None = None
    idle: float | None = None
    starts_outage: bool = False
    heeds_outage: bool = True
    is_cancelled: bool = True

    def settings(self) -> list[bytes]:
        """The commands that follow a transaction's BEGIN."""
        limits = {
            "statement_timeout": self.statement,
            "lock_timeout": self.lock,
            "idle_in_transaction_session_timeout": self.idle,
        }
        found = ((name, seconds) for name, seconds in limits.items() if seconds is not None)
        return [b"SET LOCAL %b = %d" % (name.encode(), seconds * 1000) for name, seconds in found]


# look-ups of visitors: one row by its key, without a transaction; its silence is noticed first
VISITS = Patience(connect=2, silence=2)
# the poll for changes: five times a second in each web process, so it shows whether the server hangs
PULSE = Patience(connect=2, silence=2, starts_outage=True, heeds_outage=False)
# clicks of limited links: rather than wait longer, a visitor is asked to try again
LIMITED = Patience(connect=2, silence=3, statement=2, lock=2, idle=5)
# health checks, which answer within two seconds
READINESS = Patience(connect=2, silence=2, statement=2, lock=1, idle=5)
# pages and the API: the longest report takes a second; a write waits for others as it does on SQLite
PAGES = Patience(connect=3, silence=33, statement=30, lock=10, idle=60)
# jobs and deliveries of the worker: nobody waits for them, and each is tried again
WORK = Patience(connect=5, silence=310, statement=300, lock=30, idle=600)
# clicks from the journal, which keeps them meanwhile: short transactions, and other work between them
INGEST = Patience(connect=5, silence=65, statement=60, lock=1, idle=120)
# `doctor`: after one silence it asks no more
DIAGNOSIS = Patience(connect=3, silence=33, statement=30, lock=5, idle=60, starts_outage=True)
# migrations, backups and other commands, which take as long as the tables are large
COMMANDS = Patience(connect=5, idle=3600)


class Silent(psycopg.OperationalError):
    """The server has given no answer in time, or is known to give none now."""


def is_silence(error: BaseException) -> bool:
    """Whether the server has given no answer, instead of one that is an error."""
    return isinstance(error, Silent | psycopg.errors.ConnectionTimeout)


class Outage:
    """Whether PostgreSQL hangs, for all threads of this process. Begun and ended by one poll."""

    def __init__(self) -> None:
        self.is_on = False

    def begin(self) -> None:
        self.is_on = True

    def end(self) -> None:
        self.is_on = False


outage = Outage()


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


def limit_waiting(engine: Engine, patience: Patience) -> None:
    """Has connections of an engine wait no longer than this. Those that are open are closed."""
    engine.update_execution_options(**{OPTION: patience})
    engine.dispose()


def watch_waiting(engine: Engine, patience: Patience) -> None:
    """Opens every connection of an engine as a `Connection`. Called once for each engine on PostgreSQL."""
    engine.update_execution_options(**{OPTION: patience})

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _entry: Any, arguments: Any, named: dict[str, Any]) -> Connection:
        return open_connection(engine.get_execution_options()[OPTION], *arguments, **named)


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
