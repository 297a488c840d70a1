"""Targets that can't be used: each is refused with a sentence, and nothing is changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import text

from app.core import write_stop
from app.core.config import Settings
from app.core.extensions import db
from app.core.file_locks import lock_file
from app.operations.database_copy import targets
from app.operations.database_copy.progress import CopyProgress
from tests import postgres

Run = Callable[..., Result]

WRONG = {
    "no address of a database": ("mysql://localhost/waypost", "must begin with sqlite:/// or postgresql://"),
    "a relative path": ("sqlite:///main.db", "must be the whole path"),
    "a folder that is missing": ("sqlite:////nowhere/main.db", "the folder /nowhere does not exist"),
    "the database itself": ("{own}", "names the database that is copied"),
    "beside its own clicks": ("sqlite:///{data_dir}/other.db", "belongs to this instance"),
    "nobody is there": ("postgresql://waypost:secret@127.0.0.1:1/waypost", "The target can't be reached"),
}


@pytest.fixture
def run(app: Flask) -> Run:
    return lambda *arguments: app.test_cli_runner().invoke(args=["db", "copy", *map(str, arguments)])


@pytest.fixture
def refused(run: Run, settings: Settings) -> Callable[..., str]:
    def run_refused(*arguments: object) -> str:
        result = run(*arguments)
        assert result.exit_code == 1, result.output
        assert "Traceback" not in result.stderr
        assert write_stop.read_state(settings) is None
        return str(result.stderr)

    return run_refused


@pytest.mark.parametrize("case", WRONG)
def test_an_address_that_can_not_be_used(case: str, refused: Callable[..., str], settings: Settings) -> None:
    address, said = WRONG[case]
    filled = address.format(own=settings.database_url, data_dir=settings.data_dir)
    found = refused("--to", filled)
    assert said in found
    assert "secret" not in found


def test_a_postgresql_with_other_tables(refused: Callable[..., str], empty_postgres: str) -> None:
    with postgres.connect(empty_postgres.partition("@/")[2].partition("?")[0]) as connection:
        connection.execute("CREATE TABLE theirs (id int)")
    assert "The target is not empty: it has 1 tables (theirs" in refused("--to", empty_postgres)


def test_a_file_with_other_tables(refused: Callable[..., str], empty_sqlite: str) -> None:
    path = Path(empty_sqlite.removeprefix("sqlite:///"))
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (id int)")
    connection.close()
    assert "The target is not empty" in refused("--to", empty_sqlite)


def test_a_part_of_another_copy(refused: Callable[..., str], empty_postgres: str, settings: Settings) -> None:
    store = targets.open_target(targets.read_address(empty_postgres, settings))
    CopyProgress(store).create("of another one")
    store.close()
    assert "a part of another copy" in refused("--to", empty_postgres)


def test_an_instance_of_another_version(refused: Callable[..., str], app: Flask, empty_postgres: str) -> None:
    with app.app_context():
        db.session.execute(text("UPDATE alembic_version SET version_num = '4b1f7e0c9a35'"))
        db.session.commit()
    assert "start the service once, then copy" in refused("--to", empty_postgres)


@pytest.fixture
def without_rights(empty_postgres: str) -> Iterator[str]:
    """The address with a user who may make nothing there."""
    with postgres.connect() as connection:
        connection.execute("CREATE ROLE only_looks LOGIN")
        yield empty_postgres.replace(f"{postgres.USER}@", "only_looks@")
        connection.execute("DROP ROLE only_looks")


def test_a_user_without_rights(refused: Callable[..., str], without_rights: str) -> None:
    assert "The user of the database lacks a right: permission denied" in refused("--to", without_rights)


def test_one_at_a_time(refused: Callable[..., str], settings: Settings, empty_postgres: str) -> None:
    with lock_file(settings.data_dir / "database-copy.lock"):
        assert "Another copy is under way" in refused("--to", empty_postgres)


def test_nothing_to_cancel(run: Run) -> None:
    assert run("--cancel").output == "No copy was begun.\n"
    assert run().exit_code == 2
    assert run("--cancel", "--to", "sqlite:////x/main.db").exit_code == 2
