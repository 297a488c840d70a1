"""Engine of the clicks database for the ingesting process, apart from the main database."""

from __future__ import annotations

import contextlib
import sqlite3

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.pool import ConnectionPoolEntry

from app.core.config import Settings
from app.core.database import CLICKS, clicks_path
from app.core.database_damage import watch_engine
from app.core.patience import INGEST
from app.core.postgresql import watch_waiting

BUSY_MS = 1000  # only another ingester or a migration can hold the lock; the worker has other work meanwhile
CACHE_KIB = (
    32 * 1024
)  # the pages of today's links: with SQLite's own 2 MiB, most would be read again each time
WAL_BYTES = 64 * 1024 * 1024


def open_engine(settings: Settings) -> Engine:
    """An engine that may write the clicks: `clicks.db` itself, or the schema `clicks` on PostgreSQL."""
    url = settings.clicks_url or settings.database_url
    if not url.startswith("sqlite"):
        engine = create_engine(url, pool_pre_ping=True)
        watch_engine(engine, settings.data_dir)
        watch_waiting(engine, INGEST)
        return engine
    engine = create_engine(f"sqlite:///{clicks_path(settings)}")
    watch_engine(engine, settings.data_dir)
    event.listen(engine, "connect", prepare_file)
    event.listen(engine, "begin", begin_transaction)
    return engine.execution_options(schema_translate_map={CLICKS: None})


def prepare_file(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # `begin` starts transactions, not the driver
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(
        "PRAGMA synchronous = NORMAL"
    )  # the journal keeps the clicks until a checkpoint has synced them
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")


def begin_transaction(connection: Connection) -> None:
    """Begins a transaction. Writers lock at once: one that locked after reading might have to start over."""
    connection.exec_driver_sql(
        "BEGIN" if connection.get_execution_options().get("reads") else "BEGIN IMMEDIATE"
    )


def checkpoint_wal(engine: Engine) -> bool:
    """Checkpoints the WAL; returns whether all commits are durable now. (On PostgreSQL they always are.)"""
    if engine.dialect.name != "sqlite":
        return True
    with contextlib.closing(engine.raw_connection()) as connection:
        cursor = connection.cursor()
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
        is_busy, in_wal, moved = cursor.fetchall()[0]
    return bool(not is_busy and in_wal == moved)
