"""Commits of the program are on disk when they return, and the lock of writes is free while they wait for it."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.core import sqlite_sync
from app.core.config import Settings, load_settings
from app.core.database import begin_write, engine_options, is_outage, prepare_engine
from tests.migrations import environ, migrate

ADD = "INSERT INTO redeemed_ticket (id, expires_datetime) VALUES (:name, '2026-11-25')"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    migrate(tmp_path)
    return load_settings(environ(tmp_path))


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    made = create_engine(settings.database_url, **engine_options(settings))
    prepare_engine(made, settings)
    yield made
    made.dispose()


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of the log at each sync."""
    found, real = list[int](), sqlite_sync.sync_file

    def sync(log: int) -> None:
        real(log)
        found.append(os.fstat(log).st_size)

    monkeypatch.setattr(sqlite_sync, "sync_file", sync)
    return found


def add(session: Session, name: str) -> None:
    begin_write(session)
    session.execute(text(ADD), {"name": name})


def test_a_write_is_on_disk_when_its_commit_returns(
    engine: Engine, settings: Settings, syncs: list[int]
) -> None:
    log = Path(f"{settings.data_dir}/main.db-wal")
    with Session(engine) as session:
        for number in range(3):
            add(session, f"name {number}")
            session.commit()
            assert len(syncs) == number + 1
            assert syncs[-1] == log.stat().st_size > 0


def test_the_file_may_be_elsewhere(tmp_path: Path, syncs: list[int]) -> None:
    data_dir, elsewhere = tmp_path / "data", tmp_path / "disk"
    data_dir.mkdir()
    elsewhere.mkdir()
    migrate(data_dir)
    (data_dir / "main.db").rename(elsewhere / "main.db")
    (data_dir / "main.db").symlink_to(elsewhere / "main.db")
    settings = load_settings(environ(data_dir))
    engine = create_engine(settings.database_url, **engine_options(settings))
    prepare_engine(engine, settings)
    with Session(engine) as session:
        add(session, "name")
        session.commit()
    engine.dispose()
    assert len(syncs) == 1


WITHOUT_CHANGES: dict[str, Callable[[Session], object]] = {
    "a read": lambda session: session.execute(text("SELECT count(*) FROM redeemed_ticket")).scalar(),
    "a write that changes nothing": lambda session: (
        begin_write(session),
        session.execute(text("DELETE FROM redeemed_ticket")),
    ),
}


@pytest.mark.parametrize("run", WITHOUT_CHANGES.values(), ids=WITHOUT_CHANGES)
def test_what_changes_nothing_waits_for_no_disk(
    run: Callable[[Session], object], engine: Engine, syncs: list[int]
) -> None:
    with Session(engine) as session:
        run(session)
        session.commit()
    assert syncs == []


def test_another_one_can_write_meanwhile(
    engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = list[str]()

    def sync(_log: int) -> None:
        with closing(sqlite3.connect(f"{settings.data_dir}/main.db", isolation_level=None)) as other:
            other.execute("PRAGMA busy_timeout = 0")
            other.execute("BEGIN IMMEDIATE")
            begun.append("other")

    monkeypatch.setattr(sqlite_sync, "sync_file", sync)
    with Session(engine) as session:
        add(session, "name")
        session.commit()
    assert begun == ["other"]


def test_a_disk_that_refuses_to_sync_is_an_outage(
    engine: Engine, syncs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_log: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with Session(engine) as session:
        add(session, "name")
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_sync, "sync_file", refuse)
            with pytest.raises(OperationalError) as raised:
                session.commit()
        assert is_outage(raised.value)
        session.rollback()
        add(session, "another")
        session.commit()
    assert len(syncs) == 1


def test_commands_that_change_the_schema_leave_the_sync_to_sqlite(settings: Settings) -> None:
    engine = create_engine(settings.database_url)
    prepare_engine(engine, settings, clicks_mode="rwc")
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA main.synchronous")).scalar() == 2
    engine.dispose()
