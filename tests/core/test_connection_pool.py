"""The pool counts its connections, how long they took, and what failed; once each, also after a dispose."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app.core import database
from app.core.counters import InstanceCounts
from app.core.database import CountingPool, count_errors
from tests.core.test_counters import opened


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(database, "counters", opened(tmp_path))
    return tmp_path


@pytest.fixture
def engine(counted: Path) -> Iterator[sa.Engine]:
    made = sa.create_engine(
        f"sqlite:///{counted / 'a.db'}",
        poolclass=CountingPool,
        pool_size=1,
        max_overflow=1,
        pool_timeout=0.05,
    )
    count_errors(made)
    yield made
    made.dispose()


def test_connections_in_use(engine: sa.Engine, counted: Path) -> None:
    for _ in range(3):
        engine.dispose()
        with engine.connect(), engine.connect():
            assert InstanceCounts(counted).get("connections in use") == 2
            with pytest.raises(PoolTimeoutError):
                engine.connect()
        assert InstanceCounts(counted).get("connections in use") == 0
    found = InstanceCounts(counted)
    assert (found.get("database checkouts"), found.get("database timeouts")) == (9, 3)
    assert found.get("database wait ns") > 3 * 0.05 * 1e9
    assert found.get("connections at most") >= 2


def fail(engine: sa.Engine, statement: str, error: type[Exception]) -> None:
    with pytest.raises(error), engine.begin() as connection:
        connection.execute(sa.text(statement))


def test_errors_by_kind(engine: sa.Engine, counted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (a INTEGER UNIQUE)"))
        connection.execute(sa.text("INSERT INTO t VALUES (1)"))
    fail(engine, "INSERT INTO t VALUES (1)", IntegrityError)
    fail(engine, "INSERT INTO t VALUES (1, 2)", OperationalError)  # SQLite has one class for both
    found = InstanceCounts(counted)
    assert (found.get("database errors outage"), found.get("database errors statement")) == (1, 0)
    monkeypatch.setattr(database, "is_outage", lambda _error: False)
    other = sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(":memory:"))
    count_errors(other)
    fail(other, "SELECT nothing", OperationalError)
    assert InstanceCounts(counted).get("database errors statement") == 1
    other.dispose()
