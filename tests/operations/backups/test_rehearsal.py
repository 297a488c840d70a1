"""Scratch databases of rehearsals on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import make_url

from app.core.config import Settings
from app.operations.backups.postgres import rehearsal_database
from tests import postgres

OLD, OTHER = "waypost_rehearsal_1000_0123abcd", "waypost_rehearsal_of_mine"

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


def databases() -> set[str]:
    with postgres.connect() as connection:
        return {row[0] for row in connection.execute("SELECT datname FROM pg_database").fetchall()}


@pytest.fixture
def left() -> Iterator[None]:
    """What a killed rehearsal has left, and a database with a similar name."""
    with postgres.connect() as connection:
        for name in (OLD, OTHER):
            connection.execute(f"CREATE DATABASE {name}")
        yield
        for name in (OLD, OTHER):
            connection.execute(f"DROP DATABASE IF EXISTS {name}")


def test_one_is_dropped_after_an_error_too_and_old_ones_with_it(settings: Settings, left: None) -> None:
    kept = {OTHER, make_url(settings.database_url).database}
    assert databases() >= {OLD, *kept}
    scratch = rehearsal_database(settings)
    name = make_url(str(scratch.__enter__())).database
    assert name in databases()
    assert not scratch.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    # other tests make and drop databases of their own meanwhile
    assert not databases() & {OLD, name}
    assert databases() >= kept


def test_a_user_who_may_make_none_gets_none(settings: Settings) -> None:
    with postgres.connect() as connection:
        connection.execute("CREATE ROLE plain_rehearser LOGIN PASSWORD 'plain'")
        try:
            url = make_url(settings.database_url).set(username="plain_rehearser", password="plain")
            plain = replace(settings, database_url=url.render_as_string(hide_password=False))
            with rehearsal_database(plain) as found:
                assert found is None
        finally:
            connection.execute("DROP ROLE plain_rehearser")
