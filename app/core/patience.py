"""Patience: how long each kind of work waits for PostgreSQL. The connections of `postgresql.py` hold it."""

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

    `silence` is the client's own, for an answer of any kind. The server holds the others, which are shorter:
    the client gives up only where the server hangs.
    """

    connect: int
    silence: float | None = None
    statement: float | None = None
    lock: float | None = None
    idle: float | None = None


# look-ups of visitors: one row by its key
VISITS = Patience(connect=2, silence=2.5, statement=2)
# clicks of limited links: rather than wait longer, a visitor is asked to try again
LIMITED = Patience(connect=2, silence=3, statement=2, lock=2, idle=5)
# counts of rate limits, one row each
COUNTS = Patience(connect=2, silence=0.3, statement=0.2, lock=0.2, idle=5)
# health checks, which answer within two seconds
READINESS = Patience(connect=2, silence=2, statement=2, lock=1, idle=5)
# pages and the API: the longest report takes a second; a write waits for others as it does on SQLite
PAGES = Patience(connect=3, silence=20, statement=18, lock=10, idle=60)
# jobs and deliveries of the worker: nobody waits for them, and each is tried again
WORK = Patience(connect=5, silence=310, statement=300, lock=30, idle=600)
# clicks from the journal, which keeps them meanwhile: short transactions, and other work between them
INGEST = Patience(connect=5, silence=65, statement=60, lock=1, idle=120)
# `doctor`, which may count rows
DIAGNOSIS = Patience(connect=3, silence=33, statement=30, lock=5, idle=60)
# migrations, backups and other commands, which take as long as the tables are large
COMMANDS = Patience(connect=5, idle=3600)
