"""What is copied from SQL to ClickHouse says the same there; a copy that was killed is begun again."""

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
from app.analytics.ingest import Ingest
from app.analytics.readers import reader_of
from app.analytics.statistics import query_statistics
from app.analytics.upkeep import Upkeep
from app.core.config import Settings
from app.core.database import CLICKHOUSE
from app.core.extensions import db
from app.journal.codec import encode
from app.journal.writer import Journal
from tests.analytics.conftest import Crash, take_in
from tests.analytics.load import BEGIN, LINKS, load, questions
from tests.factories import Factory

pytestmark = pytest.mark.parametrize(
    "store", [pytest.param("sqlite", marks=pytest.mark.full), "postgresql"], indirect=True
)
SCOPES: tuple[dict[str, Any], ...] = (
    {},
    {"zone": ZoneInfo("Europe/Berlin")},
    {"link_ids": (10, 12)},
    {"bots": True, "workspace_id": 2},
    {"filters": {"country_code": "DE"}},
)


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


def test_a_copy(
    app: Any, settings: Settings, loaded: Any, clickhouse_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "BATCH_SIZE", 150)
    monkeypatch.setitem(app.config, "WAYPOST", replace(settings, clickhouse_url=clickhouse_url))
    before, server = answers(loaded), clickhouse_of(clickhouse_url)
    real, runner = ClickHouse.insert, app.test_cli_runner()

    def crash(*arguments: Any) -> None:
        real(*arguments)
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(ClickHouse, "insert", crash)
        with pytest.raises(Crash):
            runner.invoke(args=["clicks", "copy"], catch_exceptions=False)
    refused = runner.invoke(args=["clicks", "copy"])
    assert refused.exit_code == 1
    assert "has clicks already" in refused.output
    server.work(f"DROP DATABASE `{server.name}`")
    copied = runner.invoke(args=["clicks", "copy"])
    assert copied.exit_code == 0, copied.output
    assert "clicks in all: 400 in the database, 400 in ClickHouse" in copied.output
    db.engine.update_execution_options(**{CLICKHOUSE: clickhouse_url})
    assert answers(loaded) == before
    assert reader_of(loaded).last_pruned(1, 0, 96 * 30_000) is not None
