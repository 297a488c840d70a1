"""Tables of ClickHouse, made by the worker where they are missing, and how clicks in them are counted.

`click` has the single clicks. Each is kept on a shelf: its UTC day, or the day on which it was ingested if
its own day was removed. A shelf is one partition for each day that it holds, and is removed as a whole.
`quarter` has the clicks by quarter of an hour, to which a materialized view adds what is inserted; its link 0
is all links of an owner. `day` has the roll-ups of shelves: in dimension 0 by quarter of an hour, in others
by value, at the noon of each day. A roll-up that is made anew takes the place of the earlier one. `rolled`
says how many of an owner's clicks the roll-up of a shelf holds, and is written after it. `removed` names the
shelves of which only roll-ups are left. `user_id` is the workspace's id: ClickHouse renames no column of a
sorting key.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.analytics.clickhouse.client import ClickHouse
from app.analytics.dimensions import DIMENSIONS
from app.analytics.periods import DAY_MS, QUARTER_MS, QUARTERS

COLUMNS = (
    "shelf", "time_ms", "id", "link_id", "user_id", "is_bot", "visitor", "bot_name", "country_code",
    "continent_code", "city_name", "agent", "device_type", "os_name", "browser_name", "language",
    "referrer_host", "referrer_path", "utm_source", "utm_medium", "utm_campaign", "destination",
)  # fmt: skip
DAY_COLUMNS = (
    "user_id", "link", "dimension", "is_bot", "value", "quarter", "shelf", "pageviews", "visitors",
)  # fmt: skip
DAY_OF = f"intDiv(time_ms, {DAY_MS})"
QUARTER_OF = f"toUInt32(intDiv(time_ms, {QUARTER_MS}))"
NOON_OF = f"toUInt32({DAY_OF} * {QUARTERS} + {QUARTERS // 2})"
# inserts whose tokens a table remembers: hours of them, and a retry follows in seconds
WINDOW = "{window} = 10000"
TABLES = (
    # a segment of the journal is removed once its clicks are inserted, so these must be on the disk
    f"""CREATE TABLE IF NOT EXISTS click (
        shelf UInt16, time_ms Int64, id Int64, link_id UInt64, user_id UInt64, is_bot Bool, visitor String,
        bot_name LowCardinality(String), country_code LowCardinality(String),
        continent_code LowCardinality(String), city_name LowCardinality(String), agent String,
        device_type LowCardinality(String), os_name LowCardinality(String),
        browser_name LowCardinality(String), language LowCardinality(String),
        referrer_host LowCardinality(String), referrer_path String, utm_source LowCardinality(String),
        utm_medium LowCardinality(String), utm_campaign LowCardinality(String), destination String,
        INDEX by_link link_id TYPE bloom_filter GRANULARITY 1
    ) ENGINE = {{kind}}MergeTree PARTITION BY (shelf, {DAY_OF}) ORDER BY (user_id, link_id, time_ms)
    SETTINGS {WINDOW}, fsync_after_insert = 1, fsync_part_directory = 1""",
    f"""CREATE TABLE IF NOT EXISTS quarter (
        user_id UInt64, link UInt64, is_bot Bool, quarter UInt32, pageviews UInt64
    ) ENGINE = {{kind}}SummingMergeTree(pageviews) ORDER BY (user_id, link, is_bot, quarter)
    SETTINGS {WINDOW}""",
    """CREATE TABLE IF NOT EXISTS day (
        user_id UInt64, link UInt64, dimension UInt8, is_bot Bool, value String, quarter UInt32, shelf UInt16,
        pageviews UInt64, visitors UInt64, version DateTime64(3) DEFAULT now64(3)
    ) ENGINE = {kind}ReplacingMergeTree(version)
    ORDER BY (user_id, link, dimension, is_bot, value, quarter, shelf)""",
    """CREATE TABLE IF NOT EXISTS rolled (
        user_id UInt64, shelf UInt16, clicks SimpleAggregateFunction(max, UInt64)
    ) ENGINE = {kind}AggregatingMergeTree ORDER BY (user_id, shelf)""",
    """CREATE TABLE IF NOT EXISTS removed (shelf UInt16, moment DateTime)
    ENGINE = {kind}MergeTree ORDER BY shelf""",
    f"""CREATE MATERIALIZED VIEW IF NOT EXISTS quarter_of_click TO quarter AS
    SELECT user_id, link, is_bot, {QUARTER_OF} AS quarter, count() AS pageviews
    FROM click ARRAY JOIN [0, link_id] AS link GROUP BY user_id, link, is_bot, quarter""",
)
OF_CLICKS = ("click", "quarter", "day", "rolled")  # what erasure empties
COPIED = 0  # the shelf of what was rolled up and removed in SQL before it was copied
# the columns of a click that hold the value of a dimension
VALUES = {
    name: "concat(referrer_host, referrer_path)"
    if len(each.columns) > 1
    else each.columns[0].removesuffix("_id")
    for name, each in DIMENSIONS.items()
}


class OldTables(Exception):
    """The database has the tables of an earlier version."""

    def __init__(self, database: str) -> None:
        super().__init__(
            f"the ClickHouse database {database} has tables of an earlier version: name an empty one in"
            " CLICKS_URL, and take the clicks over as docs/upgrade.md says"
        )


def make_tables(server: ClickHouse) -> None:
    """Makes what is missing, replicated where the database's engine is `Replicated`. Raises OldTables."""
    server.make_database()
    if server.query("SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = 'day_value'"):
        raise OldTables(server.name)
    [(engine,)] = server.query("SELECT engine FROM system.databases WHERE name = currentDatabase()")
    for statement in TABLES:
        server.work(make_statement(statement, is_replicated=engine == "Replicated"))


def make_statement(statement: str, *, is_replicated: bool) -> str:
    kind, window = ("Replicated", "replicated") if is_replicated else ("", "non_replicated")
    return statement.format(kind=kind, window=f"{window}_deduplication_window")


def numbers(values: Iterable[int]) -> str:
    """A list for IN. An empty one matches nothing."""
    return f"({', '.join(f'{value:d}' for value in values) or '-1'})"


def counted(
    where: str, value: str = "''", unit: str = QUARTER_OF, links: str = "[0]", keys: str = "link"
) -> str:
    """A SELECT of `keys`, value, quarter, pageviews and visitors of single clicks.

    A visitor counts once a UTC day for each of the keys and values, at the time of their first click.
    `unit`: what stands for the time of a click; `links`: as which links a click counts.
    """
    return (
        f"SELECT {keys}, value, quarter, count() AS pageviews, countIf(n = 1 AND who != '') AS visitors FROM"
        f" (SELECT {keys}, toString({value}) AS value, visitor AS who, arraySort(groupArray({unit})) AS came"
        f" FROM click ARRAY JOIN {links} AS link WHERE {where} GROUP BY {keys}, value, who, {DAY_OF})"
        f" ARRAY JOIN came AS quarter, arrayEnumerate(came) AS n GROUP BY {keys}, value, quarter"
    )


def removed_shelves(server: ClickHouse) -> list[int]:
    """The shelves of which only roll-ups are left."""
    found = server.query("SELECT DISTINCT shelf FROM removed ORDER BY shelf")
    return [COPIED, *(row[0] for row in found)]


def owners(server: ClickHouse) -> set[int]:
    """The workspaces that any click is of."""
    make_tables(server)
    return {int(id_) for (id_,) in server.query("SELECT DISTINCT user_id FROM quarter")}


def erase_owner(server: ClickHouse, workspace_id: int) -> None:
    """Writes the parts that hold clicks of the owner anew without them, and waits until that is done."""
    make_tables(server)
    for name in OF_CLICKS:
        server.work(f"ALTER TABLE {name} DELETE WHERE user_id = {workspace_id:d}", mutations_sync=2)
