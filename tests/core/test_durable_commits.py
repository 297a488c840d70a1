"""Whatever writes `main.db` commits with `synchronous = FULL`: SQLite syncs its log before a commit returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from flask import Flask
from sqlalchemy import Engine, create_engine, text

from app.core.config import Settings
from app.core.database import prepare_engine
from app.core.extensions import db
from app.jobs.worker import Worker, WorkerThreads
from app.redirects import limits
from tests.test_architecture import MODULES, named

FULL = 2


def of_migrations(settings: Settings) -> Engine:
    engine = create_engine(settings.database_url)
    prepare_engine(engine, settings, clicks_mode="rwc")
    return engine


ENGINES: dict[str, Callable[[Settings], Engine]] = {
    "pages and API": lambda _settings: db.engine,
    "visits of limited links": limits.open_engine,
    "worker": lambda settings: Worker(settings).engine,
    "threads of the worker": lambda settings: WorkerThreads(settings).engine,
    "migrations": of_migrations,
}


@contextmanager
def opened(make: Callable[[Settings], Engine], app: Flask, settings: Settings) -> Iterator[Engine]:
    with app.app_context():
        engine = make(settings)
        yield engine
        engine.dispose()


@pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES)
def test_each_engine_commits_to_disk(
    make: Callable[[Settings], Engine], app: Flask, settings: Settings
) -> None:
    with opened(make, app, settings) as engine, engine.connect() as connection:
        assert connection.execute(text("PRAGMA main.synchronous")).scalar() == FULL


# modules that commit without a sync, and why that loses nothing
UNSYNCED = {
    "app/analytics/engine.py": "clicks: the journal keeps them until a checkpoint has synced them",
    "app/analytics/tally.py": "a temporary file",
    "app/operations/backups/snapshot.py": "a copy that is thrown away unless all of it is written and synced",
    "app/rate_limit/storages.py": "counts of the last minutes",
}


def test_nothing_else_leaves_the_sync_out() -> None:
    weaker = re.compile(r"synchronous = (?!FULL)")
    assert {named(path) for path in MODULES if weaker.search(path.read_text())} == UNSYNCED.keys()
