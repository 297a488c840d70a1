"""Rolls up one shelf of ClickHouse."""

from __future__ import annotations

from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.conditions import DAY, VALUE_COLUMNS
from app.analytics.clickhouse.counting import CHECKED
from app.analytics.dimensions import DIMENSIONS
from app.analytics.periods import QUARTER_MS


def list_shelves(server: ClickHouse) -> list[int]:
    """The shelves that have single clicks."""
    found = server.query(
        "SELECT DISTINCT toUInt32(partition) AS shelf FROM system.parts"
        " WHERE database = currentDatabase() AND table = 'click' AND active AND rows > 0 ORDER BY shelf"
    )
    return [row[0] for row in found]


def roll_up(server: ClickHouse, shelf: int, *, with_links: bool) -> None:
    """Makes the roll-ups of a shelf: of each owner, and `with_links` of each link too."""
    scopes = ["0"] + ["link_id"] * with_links
    for table in ("visitor_quarter", "value"):
        server.work(f"TRUNCATE TABLE {table}_draft")
    for scope in scopes:
        server.work(f"INSERT INTO visitor_quarter_draft {visitors(shelf, scope)}")
        for name in DIMENSIONS:
            server.work(f"INSERT INTO value_draft {values(shelf, scope, name)}")
    for table in ("visitor_quarter", "value"):
        server.work(f"ALTER TABLE {table} REPLACE PARTITION {shelf:d} FROM {table}_draft")
        server.work(f"TRUNCATE TABLE {table}_draft")
    server.work(f"INSERT INTO rolled {held(shelf)}")  # last: it says that both are used


def visitors(shelf: int, scope: str) -> str:
    """Visitors by the quarter of an hour in which they first came on a day."""
    keys = "user_id, link, is_bot"
    first = f"toUInt32(intDiv(min(time_ms), {QUARTER_MS}))"
    return (
        f"SELECT {shelf:d}, {keys}, quarter, count() FROM (SELECT user_id, toUInt64({scope}) AS link, is_bot,"
        f" {first} AS quarter FROM click WHERE shelf = {shelf:d} AND visitor != ''"
        f" GROUP BY {keys}, {DAY}, visitor) GROUP BY {keys}, quarter"
    )


def values(shelf: int, scope: str, name: str) -> str:
    keys = "user_id, link, dimension, is_bot, day, text"
    return (
        f"SELECT {shelf:d}, {keys}, count(), uniqExactIf(visitor, visitor != '') FROM (SELECT user_id,"
        f" toUInt64({scope}) AS link, toUInt8({DIMENSIONS[name].number:d}) AS dimension, is_bot,"
        f" toUInt16({DAY}) AS day, toString({VALUE_COLUMNS[name]}) AS text, visitor FROM click"
        f" WHERE shelf = {shelf:d}) GROUP BY {keys}"
    )


def held(shelf: int) -> str:
    """How many clicks of each owner the roll-ups of a shelf hold: 0 of one whose clicks are gone."""
    there = (
        f"SELECT user_id, pageviews FROM value WHERE shelf = {shelf:d} AND link_id = 0"
        f" AND dimension = {CHECKED} AND day = shelf"
    )
    before = f"SELECT user_id, 0 FROM rolled WHERE shelf = {shelf:d}"
    return (
        f"SELECT {shelf:d}, user_id, sum(pageviews), now64(6) FROM ({there} UNION ALL {before})"
        " GROUP BY user_id"
    )


def is_whole(server: ClickHouse, shelf: int) -> bool:
    """Whether the roll-ups hold all single clicks of the shelf."""
    [(held,)] = server.query(
        f"SELECT sum(pageviews) FROM value WHERE shelf = {shelf:d} AND link_id = 0 AND dimension = {CHECKED}"
    )
    [(there,)] = server.query(f"SELECT count() FROM click WHERE shelf = {shelf:d}")
    return bool(held == there)
