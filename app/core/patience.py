"""Patience: how long each kind of work waits for PostgreSQL, and whether the server hangs now.

See `postgresql.py` for what holds these limits.
"""

# see docs/decisions/2026-11-25-hanging-databases.md
from __future__ import annotations

from dataclasses import dataclass

# of the system: a dead peer is noticed after 10 s of quiet and 15 s of tries
SOCKET = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}


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


class Outage:
    """Whether PostgreSQL hangs, for all threads of this process. Begun and ended by one poll."""

    def __init__(self) -> None:
        self.is_on = False

    def begin(self) -> None:
        self.is_on = True

    def end(self) -> None:
        self.is_on = False


outage = Outage()
