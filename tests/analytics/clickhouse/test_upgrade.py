"""Tables that 0.1.0 made are upgraded by the upkeep: the same figures before and after, and after kills."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.analytics.clickhouse import upgrade
from app.analytics.clickhouse.client import ClickHouse, StatisticsUnavailable
from app.analytics.clickhouse.schema import erase_owner, table_names
from app.analytics.clickhouse.shelves import LATEST, read_shelves
from app.analytics.ingest import Ingest
from app.analytics.statistics import query_statistics
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.analytics.clickhouse.conftest import ALL, BEGIN, SOME, Crash, Crashing, Maintain
from tests.analytics.conftest import take_in
from tests.analytics.test_statistics import questions

VALUE = """(shelf UInt16, user_id UInt64, link_id UInt64, dimension UInt8, is_bot Bool, day UInt16, value String,
    pageviews UInt64, visitors UInt64) ENGINE = MergeTree PARTITION BY shelf
    ORDER BY (user_id, link_id, dimension, is_bot, day)"""
VISITOR = """(shelf UInt16, user_id UInt64, link_id UInt64, is_bot Bool, quarter UInt32, visitors UInt64)
    ENGINE = MergeTree PARTITION BY shelf ORDER BY (user_id, link_id, is_bot, quarter)"""
# the tables of roll-ups that 0.1.0 makes, and then what these hold from those of today
BEFORE = (
    *(f"CREATE TABLE {name} {VALUE}" for name in ("value", "value_draft")),
    *(f"CREATE TABLE {name} {VISITOR}" for name in ("visitor_quarter", "visitor_quarter_draft")),
    """CREATE TABLE rolled (shelf UInt16, user_id UInt64, pageviews UInt64, moment DateTime64(6))
    ENGINE = ReplacingMergeTree(moment) ORDER BY (user_id, shelf)""",
    "CREATE TABLE pruned (shelf UInt16, moment DateTime) ENGINE = MergeTree ORDER BY shelf",
    f"""INSERT INTO value SELECT number % 65536, user_id, link_id, dimension, is_bot, day, value, pageviews,
    visitors FROM day_value WHERE number IN ({LATEST}) OR number = 0""",
    f"""INSERT INTO visitor_quarter SELECT number % 65536, user_id, link_id, is_bot, quarter, visitors
    FROM day_visitor WHERE number IN ({LATEST}) OR number = 0""",
    "INSERT INTO rolled SELECT number % 65536, user_id, 1, now64(6) - 1 FROM rolled_clicks",
    f"""INSERT INTO rolled SELECT number % 65536, user_id, pageviews, now64(6) FROM rolled_clicks
    WHERE number IN ({LATEST})""",
    "INSERT INTO pruned SELECT shelf, now() FROM roll_up WHERE state = 2",
    *(
        f"DROP TABLE {name}"
        for name in (
            "late_shelf_of_click",
            "late_shelf",
            "day_value",
            "day_visitor",
            "rolled_clicks",
            "roll_up",
        )
    ),
)
DAY = int(BEGIN.timestamp()) // 86_400
# roll-ups of a removed day, as they are copied from SQL
COPIED = (
    f"INSERT INTO day_value VALUES (0, 3, 0, 4, false, 'DE', {DAY + 4}, 7, 5)",
    f"INSERT INTO day_visitor VALUES (0, 3, 0, false, {DAY * 96 + 400}, 5)",
    f"INSERT INTO owner_quarter VALUES (3, false, {DAY * 96 + 400}, 7)",
)
TYPES = ("overview", "country_code", "referrer_path")


def answers(session: Any) -> list[Any]:
    session.rollback()
    scopes: tuple[dict[str, Any], ...] = (
        {},
        {"link_ids": (10, 12)},
        {"workspace_id": 2, "bots": True},
        {"workspace_id": 3},
    )
    asked = [each for fields in scopes for each in questions(**fields) if each.type in TYPES]
    return [query_statistics(session, each) for each in asked]


@pytest.fixture
def old(
    loaded: Any, visits: list[Visit], server: ClickHouse, maintain: Maintain, ingest: Ingest, journal: Journal
) -> Any:
    """A store of 0.1.0 with days that are removed, rolled up, and neither; some clicks came late."""
    maintain(*SOME)
    late = [visit for visit in visits if visit.time_ms // 86_400_000 == DAY + 3][:5]
    assert all(journal.append(encode(visit)) for visit in late)
    take_in(ingest)
    for statement in COPIED:
        server.work(statement)
    before = answers(loaded)
    for statement in BEFORE:
        server.work(statement)
    return before


def test_a_store_of_0_1_0(
    old: Any,
    loaded: Any,
    server: ClickHouse,
    maintain: Maintain,
    crashing: Crashing,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upgrade, "BATCH_SHELVES", 4)
    is_done = False
    for allowed in (0, 1, 5, 9, 14, 6, 16, 1000):
        if not is_done:
            with pytest.raises(StatisticsUnavailable):
                answers(loaded)
            with pytest.raises(StatisticsUnavailable):
                erase_owner(server, 2)
            is_done = upgraded(server, crashing, allowed)
    assert is_done
    assert answers(loaded) == old
    assert table_names(server).isdisjoint(upgrade.OLD)
    shelves = read_shelves(server, 1, range(DAY, DAY + 12))
    assert {*shelves.removed} >= {0, DAY, DAY + 4}
    assert shelves.rolled
    assert shelves.late
    maintain(*SOME)
    maintain(*ALL)
    assert answers(loaded) == old
    assert not upgrade.step(server)


def upgraded(server: ClickHouse, crashing: Crashing, allowed: int) -> bool:
    with crashing(allowed):
        try:
            while upgrade.step(server):
                pass
        except Crash:
            return False
    return True


def test_clicks_wait_for_the_upgrade(
    old: Any,
    visits: list[Visit],
    server: ClickHouse,
    make_ingest: Callable[[], Ingest],
    journal: Journal,
) -> None:
    [(before,)] = server.query("SELECT count() FROM click")
    assert journal.append(encode(visits[0]))
    take_in(make_ingest())
    assert server.query("SELECT count() FROM click") == [(before,)]
    while upgrade.step(server):
        pass
    take_in(make_ingest())
    assert server.query("SELECT count() FROM click") == [(before + 1,)]
