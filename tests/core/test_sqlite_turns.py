"""Writes on SQLite take turns: each begins when the one before has ended, or fails in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import OperationalError

from app.core.sqlite import begin_in_turns

WRITE = {"sqlite_begin": "IMMEDIATE"}
MakeEngine = Callable[[int], Engine]


@pytest.fixture
def make_engine(tmp_path: Path) -> Iterator[MakeEngine]:
    """Engines on one file, whose writes wait so many seconds."""
    engines = list[Engine]()

    def make(seconds: int) -> Engine:
        engine = create_engine(f"sqlite:///{tmp_path}/main.db")
        event.listen(engine, "connect", lambda driver, _: setattr(driver, "isolation_level", None))
        begin_in_turns(engine, seconds)
        engines.append(engine)
        return engine

    yield make
    for engine in engines:
        engine.dispose()


def begin_write(engine: Engine) -> Connection:
    connection = engine.connect().execution_options(**WRITE)
    connection.begin()
    return connection


def test_a_write_begins_when_the_other_has_ended(make_engine: MakeEngine) -> None:
    """Those of one process, and of another one with an engine of its own."""
    mine, others = make_engine(60), make_engine(60)
    first, order = begin_write(mine), list[str]()

    def write(engine: Engine) -> None:
        with begin_write(engine) as connection:
            order.append("begun")
            connection.execute(text("CREATE TABLE IF NOT EXISTS something (id INTEGER)"))
            connection.commit()

    threads = [threading.Thread(target=write, args=[engine]) for engine in (mine, mine, others)]
    for thread in threads:
        thread.start()
    order.append("ended")
    first.close()
    for thread in threads:
        thread.join(60)
    assert order == ["ended", "begun", "begun", "begun"]


def test_a_write_whose_turn_does_not_come_fails(make_engine: MakeEngine) -> None:
    with begin_write(make_engine(60)), make_engine(0).connect() as late:
        with pytest.raises(OperationalError, match="database is locked"):
            late.execution_options(**WRITE).begin()
        assert late.connection.cursor().execute("PRAGMA busy_timeout").fetchone() == (0,)


def test_other_statements_wait_as_before(make_engine: MakeEngine) -> None:
    with begin_write(make_engine(7)) as connection:
        assert connection.scalar(text("PRAGMA busy_timeout")) == 7000


def test_readers_wait_for_nobody(make_engine: MakeEngine) -> None:
    engine = make_engine(60)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE something (id INTEGER)"))
    with begin_write(engine), engine.connect() as reader:
        assert reader.scalar(text("SELECT count(*) FROM something")) == 0
