"""Fixtures of the tests of ClickHouse alone: clicks of twelve days, and an upkeep that rolls all of them up."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from app.analytics.clickhouse import upkeep
from app.analytics.clickhouse.client import ClickHouse, clickhouse_of
from app.analytics.upkeeps import open_upkeep
from app.core.config import Settings
from app.core.extensions import db
from app.journal.codec import Visit
from tests.analytics.load import load

BEGIN = dt.datetime(2026, 10, 23, tzinfo=dt.UTC)
LINKS = {1: (10, 11, 12), 2: (20,)}
ALL, SOME = (400, dt.datetime(2026, 11, 10, tzinfo=dt.UTC)), (10, dt.datetime(2026, 11, 7, tzinfo=dt.UTC))
Maintain = Callable[[int, dt.datetime], None]
Crashing = Callable[[int], AbstractContextManager[None]]


class Crash(BaseException):
    """Ends the upkeep as a kill does."""


@pytest.fixture
def database_url(database_url: str, clickhouse_url: str, request: pytest.FixtureRequest) -> str:
    request.node.add_marker(pytest.mark.settings(CLICKS_URL=clickhouse_url))
    return database_url


@pytest.fixture
def server(clickhouse_url: str) -> ClickHouse:
    return clickhouse_of(clickhouse_url)


@pytest.fixture(scope="module")
def visits() -> list[Visit]:
    return load(400, BEGIN, 12, LINKS, Random(4))


@pytest.fixture
def maintain(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Maintain:
    """`maintain(days, now)`: all that is due. Nothing waits for pages that may still be read."""
    monkeypatch.setattr(upkeep, "READ_SECONDS", 0)

    def run(retention: int, now: dt.datetime) -> None:
        work = open_upkeep(replace(settings, click_retention_days=retention))
        while work.step(now):
            pass
        work.close()
        db.session.rollback()

    return run


@pytest.fixture
def crashing(monkeypatch: pytest.MonkeyPatch) -> Crashing:
    """`with crashing(3)`: after three statements that change something comes a kill."""

    @contextmanager
    def run(allowed: int) -> Any:
        real, calls = ClickHouse.work, []

        def work(*arguments: Any, **settings: Any) -> None:
            if len(calls) == allowed:
                raise Crash
            calls.append(arguments)
            real(*arguments, **settings)

        with monkeypatch.context() as patched:
            patched.setattr(ClickHouse, "work", work)
            yield

    return run
