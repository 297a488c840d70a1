"""Connections to PostgreSQL, for every engine of this instance: how long they wait for it.

A server that is frozen, or whose cable is cut, reports no error: its system, or nobody, takes what is sent,
and its own time limits do not run. So three limits of a `Patience` hold together:

- **The client's.** A connection that has had no answer for `silence` seconds is closed.
- **The server's.** `statement`, `lock` and `idle` are set when a connection is made. Through a pooler such as
  PgBouncer, which would hand them on to others, they are not: there the client's limit alone holds.
- **The system's.** Keepalives and `tcp_user_timeout` end a connection whose packets come back no more.
"""

# see docs/decisions/2026-11-25-hanging-databases.md, docs/decisions/2026-11-25-poolers-and-pools.md
from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, event

from app.core.late_modules import LateModule
from app.core.patience import SOCKET, Patience

if TYPE_CHECKING:
    import psycopg as psycopg  # for all that use it while they run
else:
    psycopg = LateModule("psycopg")  # 9 MB, which an instance on SQLite does without

OPTION = "patience"  # the execution option of an engine that holds its Patience
# through a pooler, which answers for many servers, a connection has another process's number: nothing is set
SET_LIMITS = """
SELECT set_config('statement_timeout', %s, false), set_config('lock_timeout', %s, false),
    set_config('idle_in_transaction_session_timeout', %s, false)
WHERE pg_backend_pid() = %s
"""


@cache
def connection_class() -> type[psycopg.Connection[Any]]:
    """The class of all connections. psycopg is loaded with the first one."""

    class PatientConnection(psycopg.Connection[Any]):
        """A connection that is closed where it has had no answer for `silence` seconds."""

        silence: float | None = None

        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            try:
                return super().wait(gen, interval, self.silence if timeout is None else timeout)
            except psycopg.OperationalError as error:
                if self.pgconn.transaction_status != psycopg.pq.TransactionStatus.ACTIVE:
                    raise
                self.close()
                raise psycopg.OperationalError("the database has given no answer in time") from error

    return PatientConnection


def open_connection(patience: Patience, *arguments: Any, **named: Any) -> psycopg.Connection[Any]:
    """A new connection with these limits. Raises psycopg.OperationalError."""
    limits: dict[str, Any] = {**SOCKET, "connect_timeout": patience.connect, "client_encoding": "utf8"}
    connection: Any = connection_class().connect(*arguments, **{**limits, **named}, autocommit=True)
    connection.silence = patience.silence or patience.connect
    held = (patience.statement, patience.lock, patience.idle)
    values = [str(int(1000 * (seconds or 0))) for seconds in held]
    if not connection.execute(SET_LIMITS, [*values, connection.info.backend_pid]).rowcount:
        connection.prepare_threshold = None  # the next transaction may have another server
    connection.silence = patience.silence
    connection.autocommit = False
    return connection  # type: ignore[no-any-return]


def is_pooled(connection: psycopg.Connection[Any]) -> bool:
    """Whether a connection of `open_connection` leads through a pooler."""
    return connection.prepare_threshold is None


def limit_waiting(engine: Engine, patience: Patience) -> None:
    """Has connections of an engine wait no longer than this. Those that are open are closed."""
    engine.update_execution_options(**{OPTION: patience})
    engine.dispose()


def watch_waiting(engine: Engine, patience: Patience) -> None:
    """Opens every connection of an engine by `open_connection`. Called once for each engine on PostgreSQL."""
    engine.update_execution_options(**{OPTION: patience})

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _entry: Any, arguments: Any, named: dict[str, Any]) -> psycopg.Connection[Any]:
        return open_connection(engine.get_execution_options()[OPTION], *arguments, **named)
