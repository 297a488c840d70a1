"""Triggers of tables: those of a table that a migration makes anew on SQLite are there afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Engine, create_engine, text

from app.operations.database import keep_triggers

TABLES = (
    "CREATE TABLE link (id INTEGER PRIMARY KEY, name TEXT)",
    "CREATE TABLE seen (id INTEGER)",
    "CREATE TRIGGER note AFTER INSERT ON link BEGIN INSERT INTO seen VALUES (NEW.id); END",
    "INSERT INTO link VALUES (1, 'a')",
)


@pytest.fixture
def engine() -> Iterator[Engine]:
    found = create_engine("sqlite://")
    with found.begin() as connection:
        for statement in TABLES:
            connection.exec_driver_sql(statement)
    yield found
    found.dispose()


def make_anew(engine: Engine) -> None:
    with (
        engine.begin() as connection,
        Operations(MigrationContext.configure(connection)).batch_alter_table(
            "link", recreate="always"
        ) as batch,
    ):
        batch.add_column(sa.Column("more", sa.Integer()))


def seen_of(engine: Engine) -> list[int]:
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO link (id, name) VALUES (2, 'b')"))
        return list(connection.scalars(text("SELECT id FROM seen ORDER BY id")))


def test_they_are_kept(engine: Engine) -> None:
    keep_triggers(engine)
    make_anew(engine)
    assert seen_of(engine) == [1, 2]


def test_those_of_other_tables_that_name_it_are_kept(engine: Engine) -> None:
    keep_triggers(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE tag (link_id INTEGER)")
        connection.exec_driver_sql(
            "CREATE TRIGGER tagged AFTER INSERT ON tag BEGIN "
            "INSERT INTO seen SELECT id FROM link WHERE id = NEW.link_id; END"
        )
    make_anew(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO tag VALUES (1), (7)")
        assert list(connection.scalars(text("SELECT id FROM seen"))) == [1, 1]


def test_those_of_a_table_that_goes_go(engine: Engine) -> None:
    keep_triggers(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE link")
        assert connection.scalar(text("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'")) == 0
