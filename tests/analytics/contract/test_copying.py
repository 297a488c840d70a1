"""What is copied from SQL to ClickHouse says the same there, also where the copy was killed on its way."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.accounts.models import User
from app.analytics.clickhouse import copying
from app.analytics.clickhouse.client import ClickHouse, clickhouse_of
from app.analytics.engine import open_engine
from app.analytics.ingest import Ingest
from app.analytics.readers import reader_of
from app.analytics.statistics import query_statistics
from app.analytics.upkeep import Upkeep
from app.cli.clicks import find_owners
from app.core.config import Settings
from app.core.database import CLICKHOUSE
from app.core.extensions import db
from app.journal.codec import encode
from app.journal.writer import Journal
from tests.analytics.conftest import take_in
from tests.analytics.load import load
from tests.analytics.test_statistics import LINKS, questions
from tests.factories import Factory

pytestmark = pytest.mark.parametrize("store", ["sqlite", "postgresql"], indirect=True)
BEGIN = dt.datetime(2026, 10, 23, tzinfo=dt.UTC)
SCOPES: tuple[dict[str, Any], ...] = (
    {},
    {"zone": ZoneInfo("Europe/Berlin")},
    {"link_ids": (10, 12)},
    {"bots": True, "workspace_id": 2},
    {"filters": {"country_code": "DE"}},
)


class Crash(BaseException):
    """Ends the copy as a kill does."""


@pytest.fixture
def loaded(
    settings: Settings, ingest: Ingest, journal: Journal, factory: Factory, alice: User, bob: User
) -> Any:
    """Clicks of twelve days, the first five of which are removed."""
    for user in (alice, bob):
        for id_ in LINKS[user.id]:
            factory.link(user, id=id_)
    for visit in load(400, BEGIN, 12, LINKS, Random(4)):
        assert journal.append(encode(visit))
    take_in(ingest)
    upkeep = Upkeep(replace(settings, click_retention_days=10))
    while upkeep.step(dt.datetime(2026, 11, 7, tzinfo=dt.UTC)):
        pass
    upkeep.close()
    factory.session.rollback()
    return factory.session


def answers(session: Any) -> list[Any]:
    session.rollback()
    return [query_statistics(session, asked) for fields in SCOPES for asked in questions(**fields)]


def test_a_copy_that_is_killed_is_completed(
    settings: Settings, loaded: Any, clickhouse_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "BATCH_IDS", 150)
    before, engine = answers(loaded), open_engine(settings)
    server = clickhouse_of(clickhouse_url)
    assert not copying.is_copied(engine)
    done = False
    for allowed in (3, 1, 8, 2, 1000):  # inserts until it is killed; that one is there, and not noted
        if not done:
            done = copied(engine, server, settings, allowed, monkeypatch)
    assert done
    found = copying.compare(engine, server)
    assert [each.sql for each in found] == [each.clickhouse for each in found]
    assert all(each.sql for each in found)
    copying.finish(engine)
    assert copying.is_copied(engine)
    engine.dispose()
    db.engine.update_execution_options(**{CLICKHOUSE: clickhouse_url})
    assert answers(loaded) == before
    assert reader_of(loaded).last_pruned(1, 0, 96 * 30_000) is not None


def copied(
    engine: Any, server: ClickHouse, settings: Settings, allowed: int, monkeypatch: pytest.MonkeyPatch
) -> bool:
    real, calls = ClickHouse.insert, []

    def insert(*arguments: Any) -> None:
        real(*arguments)
        calls.append(arguments)
        if len(calls) == allowed:
            raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(ClickHouse, "insert", insert)
        try:
            for _ in copying.copy_clicks(engine, server, find_owners, settings.click_retention_days):
                pass
        except Crash:
            return False
    return True
