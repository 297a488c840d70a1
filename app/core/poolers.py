"""Connections through a pooler such as PgBouncer, which gives each transaction another server connection.

So nothing may be left to a session. Statements are not prepared, and timeouts, which else come with the
connection (`options`), are set at the beginning of each transaction.
"""

# see docs/decisions/2026-11-25-poolers-and-pools.md
from __future__ import annotations

import re
from typing import Any

from sqlalchemy import Dialect, Engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.pool import ConnectionPoolEntry

OPTION = re.compile(r"-c\s*(\w+)=(\S+)")


def suit_pooler(engine: Engine) -> None:
    """Makes all connections of this engine ask for nothing that a pooler can't give."""
    timeouts: dict[str, str] = {}

    @event.listens_for(engine, "do_connect")
    def connect(
        _dialect: Dialect, _entry: ConnectionPoolEntry, _args: Any, arguments: dict[str, Any]
    ) -> None:
        timeouts.update(OPTION.findall(arguments.pop("options", "")))
        arguments["prepare_threshold"] = None

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if timeouts:
            parts = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in timeouts.items())
            connection.exec_driver_sql(f"SELECT {parts}")
