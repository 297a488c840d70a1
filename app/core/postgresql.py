"""How long this instance waits for PostgreSQL, for every connection that it opens.

A server that is frozen, or whose cable is cut, reports no error: its system, or nobody, takes what is sent,
and its own time limits do not run. So three limits hold together:

- **The client's.** A connection (`postgresql_connection.py`) gives up a statement that has brought no answer
  for `silence` seconds, and is closed.
- **The server's.** `statement`, `lock` and `idle` are set with each transaction, in the message that begins
  it: they cost no round trip, and PgBouncer in transaction mode can't lose them or carry them to others.
- **The system's.** Keepalives and `tcp_user_timeout` end a connection whose packets come back no more.
"""

# see docs/decisions/2026-11-25-hanging-databases.md
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, event

from app.core.late_modules import LateModule
from app.core.patience import Patience

if TYPE_CHECKING:
    import psycopg as psycopg  # for all that use it while they run

    from app.core import postgresql_connection as postgresql_connection
else:
    psycopg = LateModule("psycopg")
    postgresql_connection = LateModule("app.core.postgresql_connection")

OPTION = "patience"  # the execution option of an engine that holds its Patience


def is_silence(error: BaseException) -> bool:
    """Whether the server has given no answer, instead of one that is an error."""
    is_known = "psycopg" in sys.modules  # else it is no error of PostgreSQL
    return is_known and isinstance(error, postgresql_connection.Silent | psycopg.errors.ConnectionTimeout)


def limit_waiting(engine: Engine, patience: Patience) -> None:
    """Has connections of an engine wait no longer than this. Those that are open are closed."""
    engine.update_execution_options(**{OPTION: patience})
    engine.dispose()


def watch_waiting(engine: Engine, patience: Patience) -> None:
    """Opens every connection of an engine as a `Connection`. Called once for each engine on PostgreSQL."""
    engine.update_execution_options(**{OPTION: patience})

    @event.listens_for(engine, "do_connect")
    def connect(
        _dialect: Any, _entry: Any, arguments: Any, named: dict[str, Any]
    ) -> postgresql_connection.Connection:
        return postgresql_connection.open_connection(
            engine.get_execution_options()[OPTION], *arguments, **named
        )
