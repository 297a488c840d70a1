"""Migrations: one line of revisions that ends at the models, and keeps the data of earlier versions."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import click
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from app.core.extensions import db
from app.operations import database
from tests.migrations import alembic_config, migrate


@pytest.mark.databases
def test_migrations_lead_to_the_models(session) -> None:
    command.check(alembic_config())


def test_there_is_one_newest_revision(session) -> None:
    assert len(ScriptDirectory.from_config(alembic_config()).get_heads()) == 1


def test_no_other_process_writes_between_the_look_at_the_revision_and_the_first_change(tmp_path) -> None:
    """SQLite would refuse the change then: the running version may write when the next one migrates."""
    tried = []

    def write_beside(_connection, _cursor, statement, *_more) -> None:
        if not tried and statement.lstrip().startswith("CREATE TABLE"):
            with closing(sqlite3.connect(tmp_path / "main.db", timeout=0)) as other:
                try:
                    other.execute("CREATE TABLE beside (id INTEGER)")
                    tried.append("written")
                except sqlite3.OperationalError as error:
                    tried.append(str(error))

    sa.event.listen(sa.Engine, "before_cursor_execute", write_beside)
    try:
        migrate(tmp_path)
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", write_beside)
    assert tried == ["database is locked"]


def test_ids_are_never_given_again(session) -> None:
    """A migration that rebuilds a table on SQLite loses AUTOINCREMENT unless it repeats it."""
    tables = db.metadatas[None].tables.values()
    wanted = {table.name for table in tables if table.dialect_options["sqlite"]["autoincrement"]}
    found = session.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'table'")).all()
    assert "notification_handler" in wanted
    assert wanted <= {name for name, sql in found if "AUTOINCREMENT" in sql}


UNKNOWN = {
    "before the first tables": ("e70b3d94a1f6", "from before 29 November 2026.*commit e7312065"),
    "a newer version": ("ffffffffffff", "a newer Waypost has written to this database"),
}


@pytest.mark.databases
@pytest.mark.parametrize(("revision", "said"), UNKNOWN.values(), ids=UNKNOWN)
def test_tables_that_no_migration_leads_on_from_are_left(session, revision: str, said: str) -> None:
    session.execute(sa.text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
    session.commit()
    with pytest.raises(click.ClickException, match=said):
        database.migrate_tables()
    assert database.heads() == {revision}


def test_partial_indexes_stay_partial(session) -> None:
    found = session.execute(
        sa.text("SELECT name, sql FROM sqlite_master WHERE sql LIKE '%INDEX%WHERE%'")
    ).all()
    names = {"ix_link_start_due", "ix_link_end_due", "ix_link_change_batch", "ix_favicon_due"}
    assert {*names, "uq_domain_verified_host"} <= {name for name, _ in found}


def test_waiting_deliveries_keep_their_index(session) -> None:
    """Where a table is made anew on SQLite, a partial index would become one of all rows."""
    found = session.scalar(sa.text("SELECT sql FROM sqlite_master WHERE name = 'ix_delivery_waiting'"))
    assert "WHERE due IS NOT NULL" in found
