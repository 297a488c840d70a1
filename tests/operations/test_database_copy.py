"""Copies of a stopped instance, from SQLite to PostgreSQL and back: whole, or not there."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import random
import signal
import sqlite3
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Date,
    DateTime,
    Float,
    Integer,
    LargeBinary,
    NullPool,
    String,
    Table,
    create_engine,
    delete,
    event,
    select,
    text,
)
from sqlalchemy.engine import Connection
from sqlalchemy.types import TypeDecorator

from app import create_app
from app.core.config import Settings, load_settings
from app.core.database import Base, clicks_path
from app.core.extensions import db
from app.core.file_locks import lock_file
from app.core.folders import PROGRAM, ROOT
from app.core.stored_files import StoredFile
from app.links import previous_uploads, uploads
from app.links.models import Link
from app.links.pictures import Picture
from app.operations import database_copy
from app.operations.database import UpgradeFailed
from app.operations.database_copy import CopyFailed, is_copied, plain_table, read_rows
from tests import pictures, postgres
from tests.commands import run_command
from tests.migrations import environ

TEXT = "Zoë \\N \"'`\t\n\r\x01\x7f 🚀 \u202e %s {}"
ROWS = {"audit_retention": 1}  # a check of the database's
TABLES = [table for table in Base.metadata.sorted_tables if is_copied(table)]
Contents = dict[str, list[tuple[Any, ...]]]
Run = Callable[..., Result]


def value_of(column: Column[Any], number: int) -> Any:
    """A value of the column's kind, in its widest form."""
    kind = column.type
    while isinstance(kind, TypeDecorator):
        kind = kind.impl_instance
    if isinstance(kind, JSON):
        return '{"b": [1, 2.5, null, true], "a": "\\u0000 \\ud800 ë"}' if number % 2 else "null"
    if isinstance(kind, String):
        value = f"{number} {TEXT}"
        return value[: kind.length] if kind.length else value * 50
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
    is_id = isinstance(kind, Integer) and (column.primary_key or column.foreign_keys)
    return number if is_id else 2**31 - number


def rows_of(table: Table) -> list[tuple[Any, ...]]:
    """Three rows of the table. Rows that it refers to have the same number."""
    found = []
    for number in range(1, 1 + ROWS.get(table.name, 3)):
        row = {column.name: value_of(column, number) for column in table.columns}
        if number == 3:  # all that may be null is
            row |= {column.name: None for column in table.columns if column.nullable}
        found.append(tuple(row.values()))
    return found


@contextlib.contextmanager
def opened(settings: Settings) -> Iterator[Connection]:
    """The instance's own database, to write whatever may be in it."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(settings.data_dir / "main.db", isolation_level=None)
        connection.execute("ATTACH DATABASE ? AS clicks", (str(clicks_path(settings)),))
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    if settings.is_sqlite:
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    else:
        engine = create_engine(settings.database_url, poolclass=NullPool)
    with engine.begin() as connection:
        yield connection


@pytest.fixture
def every_row(settings: Settings) -> None:
    with opened(settings) as connection:
        for table in reversed(TABLES):
            connection.execute(delete(table))
        for table in TABLES:
            database_copy.insert_rows(connection, plain_table(table), rows_of(table))


def read_all(settings: Settings, address: str = "") -> Contents:
    """Everything that is copied of a database."""
    main = Path(address.removeprefix("sqlite:///"))
    with contextlib.ExitStack() as stack:
        if address.startswith("sqlite"):
            engine = database_copy.open_files(main, main.with_name("clicks.db"))
        else:
            engine = create_engine(address, poolclass=NullPool) if address else None
        connection = stack.enter_context(engine.connect() if engine is not None else opened(settings))
        return {
            table.fullname: sorted(
                (row for rows in read_rows(connection, plain_table(table)) for row in rows), key=repr
            )
            for table in TABLES
        }


@pytest.fixture(autouse=True)
def tables_are_made_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The migrations run in a fork, which has imported the application already."""

    def make(directory: Path, address: str) -> None:
        done = run_command(("db", "upgrade"), ROOT, os.environ | environ(directory, address))
        if done.returncode:
            raise UpgradeFailed(done.stderr.decode())

    monkeypatch.setattr(database_copy, "upgrade_copy", make)


@pytest.fixture
def new_address(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """The addresses of empty databases of a kind."""
    made: list[str] = []

    def make(kind: str) -> str:
        name = f"target_{uuid.uuid4().hex}"
        if kind == "sqlite":
            (tmp_path / name).mkdir()
            return f"sqlite:///{tmp_path / name / 'main.db'}"
        with postgres.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        made.append(name)
        return postgres.address(name)

    with postgres.started():
        yield make
        with postgres.connect() as connection:
            for name in made:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def target(database: str, new_address: Callable[[str], str]) -> str:
    """The address of an empty database of the other kind than the instance's."""
    return new_address("postgresql" if database == "sqlite" else "sqlite")


@pytest.fixture
def run(app: Flask) -> Run:
    """`run(address)`: the command in this process."""
    return lambda address: app.test_cli_runner().invoke(args=["db", "copy", "--to", address])


@pytest.mark.databases
@pytest.mark.full
def test_there_and_back(
    every_row: None,
    settings: Settings,
    run: Run,
    target: str,
    database: str,
    new_address: Callable[[str], str],
) -> None:
    """Every table has rows with every kind of value, and the target's foreign keys are there again."""
    before = read_all(settings)
    assert {name: len(rows) for name, rows in before.items()} == {
        table.fullname: ROWS.get(table.name, 3) for table in TABLES
    }
    done = run(target)
    assert done.exit_code == 0, done.output
    assert "secret" not in done.output
    assert read_all(settings, target) == before
    if database == "sqlite":
        with create_engine(target, poolclass=NullPool).connect() as connection:
            keys = text("SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND conparentid = 0")
            wanted = sum(len(table.foreign_key_constraints) for table in Base.metadata.sorted_tables)
            assert connection.scalar(keys) == wanted
    back = new_address(database)
    other = create_app(load_settings(environ(settings.data_dir, target)))
    done = other.test_cli_runner().invoke(args=["db", "copy", "--to", back])
    assert done.exit_code == 0, done.output
    assert read_all(settings, back) == before
    with other.app_context():
        db.engine.dispose()


@pytest.mark.databases
def test_ids_and_pictures_go_along(
    app: Flask, settings: Settings, make_link: Callable[..., Link], alice: Any, run: Run, target: str
) -> None:
    """The id of a deleted link is not given to the next one, whose clicks would be another one's."""
    with app.app_context():
        served = uploads.keep(Picture(b"\x89PNG of a kind", "png"))
        link = make_link(alice, cloaking_favicon=served)
        previous = f"{link.id}-{served}"
        if settings.is_sqlite:
            previous_uploads.keep_apart(link.id, served)
        else:
            uploads.link_stored(f"uploads/{served}", f"replaced/{previous}", link.id)
        last = make_link(alice).id
        db.session.execute(delete(Link).where(Link.id == last))
        db.session.commit()
        db.session.remove()
    done = run(target)
    assert done.exit_code == 0, done.output
    other = create_app(load_settings(environ(settings.data_dir, target)))
    with other.app_context():
        if settings.is_sqlite:
            paths = set(db.session.scalars(select(StoredFile.path)))
            assert paths == {f"uploads/{served}", f"replaced/{previous}"}
        else:
            assert (pictures.served(), pictures.previous()) == ([served], [previous])
        assert pictures.content(served) == b"\x89PNG of a kind"
        row = db.session.execute(select(Link.__table__)).one()._asdict()  # type: ignore[attr-defined]
        del row["id"]
        made = db.session.execute(Link.__table__.insert().values(row).returning(Link.id))  # type: ignore[attr-defined]
        assert made.scalar() == last + 1
        db.session.remove()
        db.engine.dispose()


REFUSED = {
    "a text that is too long": (
        "UPDATE project SET name = :long WHERE id = 2",
        "project (id 2) can't be copied",
    ),
    "a NUL": ("UPDATE link SET title = 'a' || char(0) WHERE id = 1", "link (id 1) can't be copied"),
    "a row that refers to nothing": (
        "UPDATE link_tag SET link_id = 77 WHERE link_id = 3",
        'on table "link_tag"',
    ),
}


MENDED = (
    "DELETE FROM link_tag WHERE link_id = 77",
    "UPDATE project SET name = 'short' WHERE id = 2",
    "UPDATE link SET title = 'short' WHERE id = 1",
)


def test_rows_that_postgresql_refuses_are_named(
    every_row: None, settings: Settings, run: Run, target: str
) -> None:
    """SQLite looks neither at lengths of texts nor at NUL. Once the row is mended, the same target takes it."""
    with closing(sqlite3.connect(settings.data_dir / "main.db", isolation_level=None)) as main:
        assert main.execute("SELECT * FROM sqlite_sequence").fetchall()
        for case, (statement, said) in REFUSED.items():
            main.execute(statement, {"long": "x" * 5000} if ":long" in statement else {})
            failed = run(target)
            assert (failed.exit_code, "Traceback" in failed.output) == (1, False), case
            assert said in failed.stderr, case
            for mending in MENDED:
                main.execute(mending)
    done = run(target)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_full_disk_leaves_nothing(
    every_row: None, settings: Settings, run: Run, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = database_copy.insert_rows

    def insert_into_full(connection: Connection, *rest: Any) -> None:
        connection.exec_driver_sql("PRAGMA main.max_page_count = 1")  # as many as there are
        insert(connection, *rest)

    monkeypatch.setattr(database_copy, "insert_rows", insert_into_full)
    failed = run(target)
    assert failed.exit_code == 1
    assert "has no space left" in failed.stderr
    folder = Path(target.removeprefix("sqlite:///")).parent
    assert list(folder.iterdir()) == []
    monkeypatch.setattr(database_copy, "insert_rows", insert)
    assert run(target).exit_code == 0


def test_a_row_that_is_lost_on_the_way_is_noticed(
    app: Flask, every_row: None, settings: Settings, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = database_copy.insert_rows
    monkeypatch.setattr(
        database_copy,
        "insert_rows",
        lambda connection, table, rows: insert(
            connection, table, rows[:-1] if table.name == "project" else rows
        ),
    )
    with app.app_context(), pytest.raises(CopyFailed, match="project reads back in another way"):
        database_copy.copy_database(settings, target, lambda *_: None)


@pytest.mark.databases
@pytest.mark.full
def test_kills(every_row: None, settings: Settings, run: Run, target: str) -> None:
    """Killed at any moment, the same command makes a whole copy."""
    command = [*PROGRAM, "db", "copy", "--to", target]
    env = os.environ | environ(settings.data_dir, settings.database_url)
    chance, kills = random.Random(11), 0
    for seconds in (2, 4, 6, 8, 10):
        process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(seconds - 2, seconds))
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        kills += 1
    else:
        done = run(target)
        assert done.exit_code == 0, done.output
    assert kills > 0
    assert read_all(settings, target) == read_all(settings)


WRONG = {
    "no address of a database": ("mysql://localhost/waypost", "must begin with sqlite:/// or postgresql://"),
    "the same kind": ("sqlite:////somewhere/main.db", "must name the other kind"),
    "nobody is there": ("postgresql://waypost:secret@127.0.0.1:1/waypost", "127.0.0.1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_address_that_can_not_be_used(case: str, run: Run) -> None:
    address, said = WRONG[case]
    result = run(address)
    assert (result.exit_code, "Traceback" in result.output) == (1, False)
    assert said in result.stderr
    assert "secret" not in result.stderr


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_file_that_can_not_be_made(run: Run, target: str) -> None:
    path = Path(target.removeprefix("sqlite:///"))
    assert "the folder /nowhere does not exist" in run("sqlite:////nowhere/main.db").stderr
    path.with_name("clicks.db").touch()
    assert "clicks.db exists already" in run(target).stderr


def test_a_target_with_other_tables(run: Run, target: str) -> None:
    with create_engine(target, poolclass=NullPool).begin() as connection:
        connection.execute(text("CREATE TABLE theirs (id int)"))
    assert "The target is not empty: it has 1 tables (theirs" in run(target).stderr


def test_a_user_without_rights(run: Run, target: str) -> None:
    with postgres.connect() as connection:
        connection.execute("CREATE ROLE only_looks LOGIN")
    try:
        failed = run(target.replace(f"{postgres.USER}@", "only_looks@"))
        assert failed.exit_code == 1
        assert "permission denied" in failed.stderr
    finally:
        with postgres.connect() as connection:
            connection.execute("DROP ROLE only_looks")


@pytest.mark.parametrize("name", ["serve.lock", "worker.lock"])
def test_a_running_service_is_in_the_way(name: str, run: Run, target: str, settings: Settings) -> None:
    with lock_file(settings.data_dir / name):
        assert "stop it first" in run(target).stderr


def test_tables_of_another_version(app: Flask, run: Run, target: str) -> None:
    with app.app_context():
        db.session.execute(text("UPDATE alembic_version SET version_num = '9d4c7a1e52b6'"))
        db.session.commit()
    assert "start Waypost once, then copy" in run(target).stderr
