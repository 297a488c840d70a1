"""Tables of ClickHouse. All are made by the worker, if they are missing.

`click` has the single clicks. Each is kept under a `shelf`: its UTC day, or the day on which it was ingested
if its own day was removed before. A shelf is a partition, which retention removes as a whole.

The sums by quarter of an hour are materialized views: ClickHouse adds to them what is inserted. `value` and
`visitor_quarter` are made of whole shelves by the upkeep, which is what makes their visitors exact. `rolled`
says afterwards how many of each owner's clicks they hold.
"""

from __future__ import annotations

from app.analytics.clickhouse.client import ClickHouse

# inserts of a table whose tokens it remembers: hours of them, and a retry follows in seconds
WINDOW = "non_replicated_deduplication_window = 10000"
# a segment of the journal is removed once its clicks are inserted, so these must be on the disk
DURABLE = "fsync_after_insert = 1, fsync_part_directory = 1"
WORD = "LowCardinality(String)"

COLUMNS = {
    "shelf": "UInt16",
    "time_ms": "Int64",
    "id": "Int64",
    "link_id": "UInt64",
    "user_id": "UInt64",
    "is_bot": "Bool",
    "visitor": "String",
    "bot_name": WORD,
    "country_code": WORD,
    "continent_code": WORD,
    "city_name": WORD,
    "agent": "String",
    "device_type": WORD,
    "os_name": WORD,
    "browser_name": WORD,
    "language": WORD,
    "referrer_host": WORD,
    "referrer_path": "String",
    "utm_source": WORD,
    "utm_medium": WORD,
    "utm_campaign": WORD,
    "destination": "String",
}
VALUES = {
    "shelf": "UInt16",
    "user_id": "UInt64",
    "link_id": "UInt64",  # 0: all links of the owner
    "dimension": "UInt8",
    "is_bot": "Bool",
    "day": "UInt16",
    "value": "String",
    "pageviews": "UInt64",
    "visitors": "UInt64",
}
VISITORS = {
    "shelf": "UInt16",
    "user_id": "UInt64",
    "link_id": "UInt64",  # 0: all links of the owner
    "is_bot": "Bool",
    "quarter": "UInt32",
    "visitors": "UInt64",
}
QUARTERS = {
    "user_id": "UInt64",
    "link_id": "UInt64",
    "is_bot": "Bool",
    "quarter": "UInt32",
    "pageviews": "UInt64",
}
OWNER_QUARTERS = {name: kind for name, kind in QUARTERS.items() if name != "link_id"}
ROLLED = {
    "shelf": "UInt16",
    "user_id": "UInt64",
    "pageviews": "UInt64",
    "moment": "DateTime64(6)",
}
PRUNED = {"shelf": "UInt16", "moment": "DateTime"}
# of clicks, by owner: what erasure empties
TABLES = ("click", "value", "visitor_quarter", "rolled", "link_quarter", "owner_quarter")


def columns(table: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in table.items())


def rolled(name: str, table: dict[str, str], order: str) -> list[str]:
    """A table of whole shelves, and another in which a shelf is drafted before it takes its place."""
    body = f"({columns(table)}) ENGINE = MergeTree PARTITION BY shelf ORDER BY ({order}) SETTINGS {WINDOW}"
    return [f"CREATE TABLE IF NOT EXISTS {each} {body}" for each in (name, f"{name}_draft")]


def summed(name: str, table: dict[str, str]) -> list[str]:
    """A table of sums, and the view that adds to it."""
    keys = ", ".join(column for column in table if column != "pageviews")
    selected = keys.replace("quarter", "toUInt32(intDiv(time_ms, 900000)) AS quarter")
    return [
        f"CREATE TABLE IF NOT EXISTS {name} ({columns(table)}) ENGINE = SummingMergeTree(pageviews)"
        f" ORDER BY ({keys}) SETTINGS {WINDOW}",
        f"CREATE MATERIALIZED VIEW IF NOT EXISTS {name}_of_click TO {name} AS"
        f" SELECT {selected}, count() AS pageviews FROM click GROUP BY {keys}",
    ]


STATEMENTS = [
    f"CREATE TABLE IF NOT EXISTS click ({columns(COLUMNS)}, INDEX by_link link_id TYPE bloom_filter"
    f" GRANULARITY 1)"
    f" ENGINE = MergeTree PARTITION BY shelf ORDER BY (user_id, link_id, time_ms) SETTINGS {WINDOW},"
    f" {DURABLE}",
    *summed("link_quarter", QUARTERS),
    *summed("owner_quarter", OWNER_QUARTERS),
    *rolled("value", VALUES, "user_id, link_id, dimension, is_bot, day"),
    *rolled("visitor_quarter", VISITORS, "user_id, link_id, is_bot, quarter"),
    f"CREATE TABLE IF NOT EXISTS rolled ({columns(ROLLED)}) ENGINE = ReplacingMergeTree(moment)"
    f" ORDER BY (user_id, shelf) SETTINGS {WINDOW}",
    f"CREATE TABLE IF NOT EXISTS pruned ({columns(PRUNED)}) ENGINE = MergeTree ORDER BY shelf SETTINGS"
    f" {WINDOW}",
]


def make_tables(server: ClickHouse) -> None:
    server.make_database()
    for statement in STATEMENTS:
        server.work(statement)


def owners(server: ClickHouse) -> set[int]:
    """The workspaces that any click is of."""
    make_tables(server)
    return {int(id_) for (id_,) in server.query("SELECT DISTINCT user_id FROM owner_quarter")}


def erase_owner(server: ClickHouse, workspace_id: int) -> None:
    """Writes the parts that hold clicks of the owner anew without them, and waits until that is done."""
    make_tables(server)
    for table in TABLES:
        server.work(f"ALTER TABLE {table} DELETE WHERE user_id = {workspace_id:d}", mutations_sync=1)
