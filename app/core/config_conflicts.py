"""Settings that can't be used together, though each has a value that could be used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from sqlalchemy import make_url

from app.core import setting_values as values
from app.core.storage_settings import StorageSettings, find_storage_conflicts

Conflict = tuple[str, str]  # the setting's name, and what is wrong with it


class Addresses(StorageSettings, Protocol):
    """The settings (`app.core.config.Settings`) that say where data is."""

    @property
    def data_dir(self) -> Path: ...
    @property
    def database_url(self) -> str: ...
    @property
    def clicks_url(self) -> str | None: ...
    @property
    def clickhouse_url(self) -> str | None: ...


def find_conflicts(settings: Addresses) -> Iterator[Conflict]:
    """Every setting that does not fit the others."""
    yield from split_databases(settings)
    yield from missing_folders(settings)
    yield from find_storage_conflicts(settings)


def split_databases(settings: Addresses) -> Iterator[Conflict]:
    """Clicks that are not in a second SQLite file, in the same PostgreSQL database or in a ClickHouse.

    Pages read those of SQL on the connection on which they read everything else.
    """
    clicks = settings.clicks_url
    is_beside = settings.is_sqlite and (clicks or "sqlite").startswith("sqlite")
    if is_beside and clicks == settings.database_url:
        yield "CLICKS_URL", "must be another file than the database's"
    if not is_beside and clicks not in {None, settings.database_url}:
        there = "must be a SQLite file where the database is one, or a ClickHouse, and else not be set"
        yield "CLICKS_URL", there


def missing_folders(settings: Addresses) -> Iterator[Conflict]:
    """SQLite files whose folder is missing: SQLite makes the file alone. (DATA_DIR is made by a command.)"""
    for name, url in (("DATABASE_URL", settings.database_url), ("CLICKS_URL", settings.clicks_url)):
        if url and url.startswith(values.SQLITE):
            folder = Path(make_url(url).database or "").parent
            if folder != settings.data_dir and not folder.is_dir():
                yield name, f"the folder {folder} does not exist"
