"""Copies of an instance's database, on SQLite to PostgreSQL and back: whatever happens, both are equal."""

from __future__ import annotations

import dataclasses
import itertools
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import text, update

from app.analytics import interning_state
from app.analytics.engine import open_engine
from app.analytics.models import Click
from app.core import write_stop
from app.core.config import Settings
from app.core.extensions import db
from app.links.models import Alias, Link
from app.operations.database_copy import moving, tables, targets
from app.operations.database_copy.store import CopyStore
from tests.journal.children import Child, forks
from tests.operations.database_copy.conftest import ROWS, Move, fill_every_table, read_all

pytestmark = [pytest.mark.databases, pytest.mark.full, forks]

MAKE_TABLES = targets.make_tables


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BATCH_ROWS", "TEXT_BATCH_ROWS", "BINARY_BATCH_ROWS"):
        monkeypatch.setattr(tables, name, 2)


@contextmanager
def written(settings: Settings) -> Iterator[CopyStore]:
    """The instance's own database, opened to write whatever may be in it."""
    store = targets.open_target(settings.database_url)
    try:
        yield store
    finally:
        store.release()
        store.close()


@pytest.fixture
def every_row(settings: Settings) -> None:
    with written(settings) as store:
        fill_every_table(store)


@pytest.fixture
def clicks(settings: Settings) -> Iterator[Callable[..., None]]:
    """`clicks(5)`: adds so many rows of single clicks, as the ingest does."""
    engine = open_engine(settings)

    def add(number: int) -> None:
        with engine.begin() as connection:
            rows = [{"time_ms": n, "link_id": 1, "user_id": 1, "is_bot": False} for n in range(number)]
            connection.execute(Click.__table__.insert(), rows)  # type: ignore[attr-defined]

    yield add
    engine.dispose()


def test_there_and_back(
    every_row: None, settings: Settings, move: Move, target: str, tmp_path: Path, empty_postgres: str
) -> None:
    """Every table has rows, with every kind of value; ids that were given once are not given again."""
    before = read_all(settings.database_url)
    wanted = {name: ROWS.get(name, 3) for name in before}
    assert {name: len(rows) for name, rows in before.items()} == wanted
    report = move(target)
    assert report is not None
    assert {each.name: each.rows for each in report.tables} == wanted
    assert read_all(target) == before
    (tmp_path / "back").mkdir()
    back = empty_postgres if not settings.is_sqlite else f"sqlite:///{tmp_path / 'back' / 'main.db'}"
    address = targets.read_address(back, settings)
    other = dataclasses.replace(settings, database_url=target, clicks_url=None)
    assert moving.move(other, address, replaces=False, note=lambda *_: None, announce=lambda _: None)
    assert read_all(address) == before


def test_what_a_copy_leaves(every_row: None, settings: Settings, move: Move, target: str) -> None:
    """The target is as the migrations make it: foreign keys are back, and nothing of the copy is left."""
    move(target)
    store = targets.open_target(target)
    try:
        assert not [name for name in store.list_tables() if "waypost" in name]
        if store.is_postgresql:
            keys = text("SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND conparentid = 0")
            wanted = sum(len(table.foreign_key_constraints) for table in db.metadatas[None].sorted_tables)
            assert store.connection.scalar(keys) == wanted
            aids = text("SELECT count(*) FROM pg_class WHERE relname LIKE 'waypost%'")
            assert store.connection.scalar(aids) == 0
    finally:
        store.release()
        store.close()
    assert move(target) is None, "run again, it says that all is done"


def test_ids_go_on(
    app: Flask, settings: Settings, make_link: Callable[..., Link], alice: object, move: Move, target: str
) -> None:
    """The id of a deleted link is not given to the next one, whose clicks would be another one's."""
    with app.app_context():
        ids = [make_link(alice).id for _ in range(3)]
        db.session.execute(Link.__table__.delete().where(Link.id == ids[-1]))  # type: ignore[attr-defined]
        db.session.commit()
        db.session.remove()
    move(target)
    store = targets.open_target(target)
    try:
        link = store.table("link").table
        with store.transaction() as connection:
            row = dict(zip(link.c.keys(), store.read(store.table("link"), None)[0], strict=True))
            del row["id"]
            made = connection.execute(link.insert().values(row).returning(link.c.id))
            assert made.scalar() == ids[-1] + 1
    finally:
        store.release()
        store.close()


def test_changes_while_it_runs_are_caught_up(
    app: Flask,
    settings: Settings,
    make_link: Callable[..., Link],
    alice: object,
    clicks: Callable[..., None],
    move: Move,
    target: str,
) -> None:
    """New, changed and deleted rows, and aliases that change places between batches that were copied."""
    with app.app_context():
        links = [make_link(alice, url=f"alias-{number}") for number in range(9)]
        ids = [link.id for link in links]
        db.session.remove()
    clicks(9)

    def change() -> None:
        with app.app_context():
            db.session.execute(
                text("DELETE FROM alias WHERE link_id IN (:one, :two)"), {"one": ids[0], "two": ids[8]}
            )
            for link, key in ((ids[0], "alias-8"), (ids[8], "alias-0")):
                db.session.add(Alias(domain_id=0, key=key, link_id=link, workspace_id=1))
            db.session.execute(update(Link).where(Link.id == ids[4]).values(title="changed"))
            db.session.execute(text("DELETE FROM link WHERE id = :id"), {"id": ids[6]})
            make_link(alice, url="new")
            db.session.commit()
            db.session.remove()
        clicks(4)

    report = move(target, then=change)
    assert report is not None and report.copied_again > 0
    assert read_all(target) == read_all(settings.database_url)


def test_clicks_that_are_removed_meanwhile(
    settings: Settings, clicks: Callable[..., None], move: Move, target: str
) -> None:
    """Rows go, and others come with the ids of those, as after an erasure."""
    clicks(9)
    engine = open_engine(settings)

    def erase() -> None:
        with engine.begin() as connection:
            connection.execute(Click.__table__.delete().where(Click.id.in_([2, 8, 9])))  # type: ignore[attr-defined]
            interning_state.count_removal(connection, interning_state.REMOVED_ROWS)
        clicks(5)

    move(target, then=erase)
    assert read_all(target) == read_all(settings.database_url)
    engine.dispose()


def test_kills(
    every_row: None,
    settings: Settings,
    clicks: Callable[..., None],
    move: Move,
    target: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed at any moment and run again, it goes on, and at the end both are equal."""
    monkeypatch.setattr(targets, "make_tables", MAKE_TABLES)  # also while it makes the tables
    clicks(60)
    chance = random.Random(11)

    def forever() -> None:
        move(target, then=lambda: time.sleep(0.2))
        time.sleep(60)

    rows = 0
    for number in itertools.count(1):
        child = Child(forever)
        time.sleep(chance.uniform(0.05, 0.2 * number))  # later and later, however fast the machine is
        child.kill()
        state = write_stop.read_state(settings)
        if number > 15 or (state is not None and state.phase is write_stop.Phase.COMPLETE):
            break
        rows += 1
    move(target)
    before = read_all(settings.database_url)
    assert read_all(target) == before
    assert len(before["clicks.click"]) == 63
    store = targets.open_target(target)
    assert not [name for name in store.list_tables() if "waypost" in name]
    store.release()
    store.close()
    assert rows > 2, "it was killed before it was complete"


def test_texts_that_postgresql_can_not_store(settings: Settings, move: Move, target: str) -> None:
    """They are named before anything is stopped, and replaced where that is asked for."""
    if not settings.is_sqlite:
        pytest.skip("PostgreSQL holds none")
    with written(settings) as store:
        fill_every_table(store)
    with sqlite3.connect(settings.data_dir / "main.db") as main:
        main.execute("UPDATE link SET title = 'a' || char(0) || 'b' WHERE id = 1")
        main.execute("UPDATE link SET title = CAST(x'61ff62' AS TEXT) WHERE id = 2")
        main.execute("UPDATE project SET name = 'again' || char(0) WHERE id = 3")
    main.close()
    for _ in range(2):
        with pytest.raises(moving.Unstorable) as raised:
            move(target)
        assert sorted(each.row for each in raised.value.problems) == [
            "link (id 1)",
            "link (id 2)",
            "project (id 3)",
        ]
        assert not write_stop.is_stopped(settings)
    report = move(target, replaces=True)
    assert report is not None and len(report.replaced) >= 3
    links = read_all(target)["link"]
    assert [("a\ufffdb" in row) for row in links] == [True, True, False]


def test_rows_that_are_refused_are_named(settings: Settings, move: Move, target: str) -> None:
    """SQLite does not look at the lengths of texts."""
    if not settings.is_sqlite:
        pytest.skip("PostgreSQL looked at them before")
    with written(settings) as store:
        fill_every_table(store)
    with sqlite3.connect(settings.data_dir / "main.db") as main:
        main.execute("UPDATE project SET name = ? WHERE id = 2", ["x" * 5000])
    main.close()
    with pytest.raises(moving.Unstorable) as raised:
        move(target)
    (problem,) = raised.value.problems
    assert problem.row == "project (id 2)"
    assert "too long" in problem.reason
    with sqlite3.connect(settings.data_dir / "main.db") as main:
        main.execute("UPDATE project SET name = 'short' WHERE id = 2")
    main.close()
    move(target)
    assert read_all(target) == read_all(settings.database_url)


def test_rows_that_refer_to_nothing(settings: Settings, move: Move, target: str) -> None:
    """They are in no sound instance. The copy says so, and the instance takes changes again."""
    if not settings.is_sqlite:
        pytest.skip("PostgreSQL takes none")
    with written(settings) as store:
        fill_every_table(store)
    with sqlite3.connect(settings.data_dir / "main.db") as main:
        main.execute("UPDATE link_tag SET link_id = 77 WHERE link_id = 3")
    main.close()
    with pytest.raises(moving.RowsRefused, match="link_tag"):
        move(target)
    assert not write_stop.is_stopped(settings)
    with sqlite3.connect(settings.data_dir / "main.db") as main:
        main.execute("DELETE FROM link_tag WHERE link_id = 77")
    main.close()
    move(target)
    assert read_all(target) == read_all(settings.database_url)


def test_the_disk_of_the_target_is_full(
    every_row: None, settings: Settings, target: str, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    if settings.is_sqlite:
        pytest.skip("the disk of a PostgreSQL can't be filled here")
    from app.operations.database_copy import sqlite_store

    connect = sqlite_store.SqliteStore.connect

    def connect_full(self: sqlite_store.SqliteStore) -> sqlite3.Connection:
        connection = connect(self)
        if self.is_target:
            pages = connection.execute("PRAGMA main.page_count").fetchone()[0]
            connection.execute(f"PRAGMA main.max_page_count = {max(pages, 2)}")
        return connection

    run = app.test_cli_runner()
    monkeypatch.setattr(sqlite_store.SqliteStore, "connect", connect_full)
    failed = run.invoke(args=["db", "copy", "--to", target])
    assert "There is no space left" in failed.stderr
    assert not write_stop.is_stopped(settings)
    monkeypatch.undo()
    done = run.invoke(args=["db", "copy", "--to", target])
    assert done.exit_code == 0, done.output
    assert read_all(target) == read_all(settings.database_url)
