"""Scratch databases of rehearsals, and rows counted in dumps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import make_url

from app.core.config import Settings
from app.operations.backups.counts import rows_of_dumps
from app.operations.backups.rehearsal import alone, scratch_database
from app.operations.backups.snapshot import BackupUnderWay
from tests import postgres

OLD, OTHER = "waypost_rehearsal_1000_0123abcd", "waypost_rehearsal_of_mine"


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


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_scratch_database_is_dropped_and_old_ones_too(settings: Settings, left: None) -> None:
    kept = {OTHER, make_url(settings.database_url).database}
    assert databases() >= {OLD, *kept}
    with scratch_database(settings) as url:
        assert url is not None
        assert make_url(url).database in databases()
    # other tests make and drop databases of their own meanwhile
    assert not databases() & {OLD, make_url(url).database}
    assert databases() >= kept


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_it_is_dropped_after_an_error_too(settings: Settings) -> None:
    scratch = scratch_database(settings)
    name = make_url(str(scratch.__enter__())).database
    assert name in databases()
    assert not scratch.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert name not in databases()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_user_who_may_make_none_gets_none(settings: Settings) -> None:
    with postgres.connect() as connection:
        connection.execute("CREATE ROLE plain_rehearser LOGIN PASSWORD 'plain'")
        try:
            url = make_url(settings.database_url).set(username="plain_rehearser", password="plain")
            plain = replace(settings, database_url=url.render_as_string(hide_password=False))
            with scratch_database(plain) as found:
                assert found is None
        finally:
            connection.execute("DROP ROLE plain_rehearser")


def test_one_rehearsal_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.operations.processes.PATIENCE_SECONDS", 0)
    with alone(tmp_path), pytest.raises(BackupUnderWay), alone(tmp_path):
        pass


def test_rows_of_dumps_are_counted(tmp_path: Path) -> None:
    """Data may look like SQL: only the end of a table's data is no row."""
    (tmp_path / "main.sql").write_text(
        "COPY public.link (id, title) FROM stdin;\n1\tCOPY public.x (id) FROM stdin;\n2\t\\\\.\n\\.\n\n"
        'COPY public."user" (id) FROM stdin;\n\\.\n\nSELECT 1;\n'
    )
    (tmp_path / "clicks.sql").write_text("COPY clicks.click_default (id) FROM stdin;\n1\n2\n3\n\\.\n")
    assert rows_of_dumps(tmp_path) == {"public.link": 2, 'public."user"': 0, "clicks.click_default": 3}
