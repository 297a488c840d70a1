"""Alembic environment: migrates both databases. On SQLite `clicks.db` is attached, writable only here."""

from __future__ import annotations

from typing import Any, Literal

import sqlalchemy as sa
from alembic import context
from flask import current_app

from app.core.config import Settings
from app.core.database import CLICKS, Base, prepare_engine
from app.operations.database import keep_triggers, require_both_files
from app.operations.owner import make_data_dir, run_as_owner

SEARCH = "link_search"  # SQLite's full-text index of links, with tables that SQLite makes itself
TRIGRAMS = "ix_link_search"  # PostgreSQL's, if it has the extension
PARTITIONS = "click_"  # of single clicks, made and dropped by app/analytics/partitions.py

settings: Settings = current_app.config["WAYPOST"]
# `flask db …` is no command of ours
make_data_dir(settings.data_dir)
run_as_owner(settings.data_dir)
require_both_files()


def ours(name: str | None, kind: str, parents: Any) -> bool:
    """Leave alone what is not ours in a shared PostgreSQL, and partitions; SQLite has no other schema."""
    if kind == "table" and parents["schema_name"] == CLICKS:
        return not (name or "").startswith(PARTITIONS)
    if kind == "table" and (name or "").startswith(SEARCH):
        return False
    return name in {None, CLICKS} if kind == "schema" else True


def is_compared(item: Any, name: str | None, kind: str, _is_reflected: bool, _other: Any) -> bool:
    """Leave alone PostgreSQL's index of trigrams, and indexes that have nulls first: Alembic takes those of
    PostgreSQL for other ones."""
    return kind != "index" or (name != TRIGRAMS and not item.dialect_kwargs.get("postgresql_ops"))


def render_item(kind: str, item: Any, autogen_context: Any) -> str | Literal[False]:  # noqa: ARG001  alembic's signature
    """Write the plain column type: a migration must not change when a class of the application does."""
    if kind == "type" and isinstance(item, sa.types.TypeDecorator):
        return f"sa.{item.impl_instance!r}" if hasattr(item, "impl_instance") else f"sa.{item.impl!r}"
    return False


def run() -> None:
    engine = sa.create_engine(settings.database_url, poolclass=sa.NullPool)
    prepare_engine(engine, settings, clicks_mode="rwc")
    if engine.dialect.name == "sqlite":
        # a table that is made anew is dropped first, which would delete all that refers to its rows
        sa.event.listen(engine, "connect", lambda line, _: line.execute("PRAGMA foreign_keys = OFF"))
        keep_triggers(engine)
    # SQLite's write lock first: a running version may write between the look at the revision and the changes
    with engine.connect().execution_options(sqlite_begin="IMMEDIATE") as connection:
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            include_schemas=True,
            include_name=ours,
            include_object=is_compared,
            render_item=render_item,
            render_as_batch=True,
            compare_type=True,
            transactional_ddl=True,  # on SQLite too: connections begin for themselves, so DDL rolls back
        )
        with context.begin_transaction():
            if engine.dialect.name == "postgresql":
                # a second process waits here, and then finds nothing left to do
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7262310)"))
                connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {CLICKS}"))
            context.run_migrations()
    engine.dispose()


run()
