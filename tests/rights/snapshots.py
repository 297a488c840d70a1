"""Snapshots of a database: which tables changed since one was taken, and the way back to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Protocol

import psycopg
from psycopg import sql

from app.core.config import Settings

# tables that any request may add to: the audit log notes refusals and exports, too; on PostgreSQL, limits are counted
NOTED = {"audit_entry", "sqlite_sequence", "rate_limit_count"}


class Snapshot(Protocol):
    """One database. `keep` remembers its rows as they are."""

    def keep(self) -> None: ...

    def restore(self, tables: set[str]) -> None:
        """Bring back the rows of these tables, at least."""

    def prints(self, workspace_id: int | None = None) -> Mapping[str, object]:
        """A value for the rows of each table but `NOTED`, all or a workspace's; another one once they change."""


class SqliteSnapshot:
    """A copy of main.db in memory. Tables are read only after somebody has written."""

    def __init__(self, settings: Settings) -> None:
        self.path = str(settings.data_dir / "main.db")
        self.kept = sqlite3.connect(":memory:")
        self.reader = sqlite3.connect(self.path)
        self.version = 0  # of the database, as this connection sees it: another one after each write
        self.known: dict[int | None, Mapping[str, object]] = {}
        self.tables: dict[bool, set[str]] = {}  # those with a `workspace_id`, and all

    def keep(self) -> None:
        self.reader.backup(self.kept)
        tables = "SELECT m.name FROM sqlite_master m{} WHERE m.type = 'table'"
        for owned in (False, True):
            more = " JOIN pragma_table_info(m.name) c ON c.name = 'workspace_id'" if owned else ""
            found = self.reader.execute(tables.format(more))
            self.tables[owned] = {name for (name,) in found} - NOTED

    def restore(self, tables: set[str]) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            self.kept.backup(connection)

    def prints(self, workspace_id: int | None = None) -> Mapping[str, object]:
        (version,) = self.reader.execute("PRAGMA data_version").fetchone()
        if version != self.version:
            self.version, self.known = version, {}
        if workspace_id not in self.known:
            mine, values = ("", []) if workspace_id is None else (" WHERE workspace_id = ?", [workspace_id])
            self.known[workspace_id] = {
                name: hash(tuple(self.reader.execute(f'SELECT * FROM "{name}"{mine}', values)))
                for name in self.tables[bool(mine)]
            }
        return self.known[workspace_id]


class PostgresSnapshot:
    """Copies of the tables of the schema `public`, in one beside it."""

    def __init__(self, settings: Settings) -> None:
        self.address = settings.database_url.replace("postgresql+psycopg://", "postgresql://")

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection]:
        with psycopg.connect(self.address, autocommit=True) as connection:
            yield connection

    def tables(self, connection: psycopg.Connection, column: str = "") -> list[str]:
        if column:
            named = "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = %s"
            found = connection.execute(named, [column])
        else:
            found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return [name for (name,) in found if name not in NOTED]

    def keep(self) -> None:
        with self.connected() as connection:
            connection.execute("CREATE SCHEMA kept")
            for name in self.tables(connection):
                copied = "CREATE TABLE kept.{0} AS TABLE public.{0}"
                connection.execute(sql.SQL(copied).format(sql.Identifier(name)))

    def restore(self, tables: set[str]) -> None:
        with self.connected() as connection, connection.transaction():
            connection.execute("SET LOCAL session_replication_role = replica")  # no trigger, and no cascade
            for name in tables:
                for statement in ("DELETE FROM public.{0}", "INSERT INTO public.{0} SELECT * FROM kept.{0}"):
                    connection.execute(sql.SQL(statement).format(sql.Identifier(name)))

    def prints(self, workspace_id: int | None = None) -> Mapping[str, object]:
        each = sql.SQL(
            "SELECT {name}, md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {table} t{mine}"
        )
        mine = "" if workspace_id is None else f" WHERE workspace_id = {workspace_id:d}"
        with self.connected() as connection:
            parts = [
                each.format(name=sql.Literal(name), table=sql.Identifier("public", name), mine=sql.SQL(mine))
                for name in self.tables(connection, "" if workspace_id is None else "workspace_id")
            ]
            return dict(connection.execute(sql.SQL(" UNION ALL ").join(parts)).fetchall())


def snapshot_of(settings: Settings) -> Snapshot:
    return SqliteSnapshot(settings) if settings.is_sqlite else PostgresSnapshot(settings)
