"""Fixtures of the tests of database copies: rows of every kind, a target, and what a database holds."""

from __future__ import annotations

import datetime as dt
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, Column, Date, DateTime, Float, Integer, LargeBinary, String, Table

from app.core.config import Settings
from app.core.database import Base
from app.core.folders import ROOT
from app.operations.database_copy import moving, targets
from app.operations.database_copy.moving import MoveReport
from app.operations.database_copy.store import CopyStore
from app.operations.database_copy.tables import is_transient, undecorated
from tests import postgres
from tests.commands import run_command
from tests.migrations import environ

TEXT = "Zoë \\N \"'`\t\n\r\x01\x7f 🚀 \u202e %s {}"
ROWS = {"audit_retention": 1}  # a check of the database's
Move = Callable[..., MoveReport | None]
Contents = dict[str, list[tuple[Any, ...]]]


def value_of(column: Column[Any], number: int) -> Any:
    """A value of the column's kind, in its widest form."""
    kind = undecorated(column.type)
    if isinstance(kind, JSON):
        return '{"b": [1, 2.5, null, true], "a": "\\u0000 \\ud800 ë"}' if number % 2 else "null"
    if isinstance(kind, String):
        text = f"{number} {TEXT}"
        return text[: kind.length] if kind.length else text * 50
    if isinstance(kind, LargeBinary):
        return bytes(range(256)) * number
    if isinstance(kind, Boolean):
        return bool(number % 2)
    if isinstance(kind, DateTime):
        return dt.datetime(2026, 2, 28, 23, 59, 59, 123456 if number % 2 else 0)
    if isinstance(kind, Date):
        return dt.date(2026, 2, number)
    if isinstance(kind, Float):
        return 0.1 * number
    return number if isinstance(kind, Integer) and column.primary_key else 2**31 - number


def refers_by_id(column: Column[Any]) -> bool:
    return bool(column.foreign_keys) and isinstance(undecorated(column.type), Integer)


def rows_of(table: Table) -> list[tuple[Any, ...]]:
    """Three rows of the table. Rows that it refers to have the same number."""
    found = []
    for number in range(1, 1 + ROWS.get(table.name, 3)):
        row = {
            column.name: number if refers_by_id(column) else value_of(column, number)
            for column in table.columns
        }
        if number == 3:  # all that may be null is
            row |= {column.name: None for column in table.columns if column.nullable}
        found.append(tuple(row.values()))
    return found


def fill_every_table(store: CopyStore) -> None:
    """Has every table hold rows of every kind of value. `store` is opened as a target, to be written."""
    known = [table for table in Base.metadata.sorted_tables if not is_transient(table)]
    with store.transaction():
        for table in reversed(known):
            store.delete(store.table(table.fullname), None, None)
        for table in known:
            store.insert(store.table(table.fullname), rows_of(table))
    store.set_last_ids({})


def contents(store: CopyStore) -> Contents:
    return {table.name: [row for rows in store.pages(table, None) for row in rows] for table in store.tables}


def read_all(address: str) -> Contents:
    """Everything that a database holds."""
    store = targets.open_target(address)
    try:
        return contents(store)
    finally:
        store.release()
        store.close()


@pytest.fixture(autouse=True)
def tables_are_made_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The migrations run in a fork, which has imported the application already."""

    def make(address: str, data_dir: Path) -> None:
        own = environ(data_dir / "tables", address)
        done = run_command(("db", "upgrade"), ROOT, os.environ | own)
        assert done.returncode == 0, done.stderr.decode()

    monkeypatch.setattr(targets, "make_tables", make)


@pytest.fixture
def empty_postgres() -> Iterator[str]:
    """The address of an empty database of PostgreSQL."""
    name = f"target_{uuid.uuid4().hex}"
    with postgres.started(), postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield postgres.address(name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def empty_sqlite(tmp_path: Path) -> str:
    (tmp_path / "target").mkdir()
    return f"sqlite:///{tmp_path / 'target' / 'main.db'}"


@pytest.fixture
def target(database: str, request: pytest.FixtureRequest) -> str:
    """The address of an empty database of the other kind than the instance's."""
    name = "empty_postgres" if database == "sqlite" else "empty_sqlite"
    return targets.read_address(request.getfixturevalue(name), request.getfixturevalue("settings"))


@pytest.fixture
def move(settings: Settings) -> Move:
    def run(address: str, *, then: Callable[[], object] = lambda: None, **options: bool) -> MoveReport | None:
        """`then` runs when the bulk is copied, before changes are refused."""
        return moving.move(
            settings,
            address,
            replaces=options.get("replaces", False),
            note=lambda _name, _rows: None,
            announce=lambda _seconds: then() and None,
        )

    return run
