"""Tables of ClickHouse. All are made by the worker, if they are missing.

`click` has the single clicks. Each is kept under a `shelf`: its UTC day, or the day on which it was ingested
if its own day was removed before. A shelf is a partition, which retention removes as a whole.

The sums by quarter of an hour are materialized views: ClickHouse adds to them what is inserted.

The upkeep rolls up shelves, which is what makes visitors exact. Each roll-up of a shelf has a number, and its
rows are only ever added: `roll_up` says last which number is complete, and statistics read the rows of such
numbers alone. So `day_value` and `day_visitor` need no partition for each day, and are in the order in which
they are asked: a value's days are next to each other. `rolled_clicks` says how many of each owner's clicks a
number holds.
"""

from __future__ import annotations

from collections.abc import Collection

from app.analytics.clickhouse.client import ClickHouse
from app.analytics.periods import DAY_MS

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
    "number": "UInt64",
    "user_id": "UInt64",
    "link_id": "UInt64",  # 0: all links of the owner
    "dimension": "UInt8",
    "is_bot": "Bool",
    "value": "String",
    "day": "UInt16",
    "pageviews": "UInt64",
    "visitors": "UInt64",
}
VISITORS = {
    "number": "UInt64",
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
    "user_id": "UInt64",
    "number": "UInt64",
    "pageviews": "UInt64",  # of the shelf's own day
    "late": "UInt64",  # of other days
}
# rows of a number's states, which are only added; the number ends in the shelf
ROLL_UPS = {"shelf": "UInt16", "number": "UInt64", "state": "UInt8", "moment": "DateTime64(3)"}
BEGUN, DONE, ALONE = 0, 1, 2  # alone: the single clicks are removed
SHELVES = 2**16
SHELF = f"(number % {SHELVES})"
LATE = {"user_id": "UInt64", "shelf": "UInt16"}
# of clicks, by owner: what erasure empties
TABLES = ("click", "day_value", "day_visitor", "rolled_clicks", "late_shelf", "link_quarter", "owner_quarter")
MARK = "roll_up"  # made last: without it the others are not to be read


def columns(table: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in table.items())


def table(name: str, its: dict[str, str], order: str, engine: str = "MergeTree") -> str:
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({columns(its)}) ENGINE = {engine} ORDER BY ({order})"
        f" SETTINGS {WINDOW}"
    )


def summed(name: str, its: dict[str, str]) -> list[str]:
    """A table of sums, and the view that adds to it."""
    keys = ", ".join(column for column in its if column != "pageviews")
    selected = keys.replace("quarter", "toUInt32(intDiv(time_ms, 900000)) AS quarter")
    return [
        table(name, its, keys, "SummingMergeTree(pageviews)"),
        f"CREATE MATERIALIZED VIEW IF NOT EXISTS {name}_of_click TO {name} AS"
        f" SELECT {selected}, count() AS pageviews FROM click GROUP BY {keys}",
    ]


FIND_LATE = f"SELECT DISTINCT user_id, shelf FROM click WHERE intDiv(time_ms, {DAY_MS}) != shelf"
OF_CLICKS = [
    f"CREATE TABLE IF NOT EXISTS click ({columns(COLUMNS)}, INDEX by_link link_id TYPE bloom_filter"
    f" GRANULARITY 1)"
    f" ENGINE = MergeTree PARTITION BY shelf ORDER BY (user_id, link_id, time_ms) SETTINGS {WINDOW},"
    f" {DURABLE}",
    *summed("link_quarter", QUARTERS),
    *summed("owner_quarter", OWNER_QUARTERS),
]
OF_ROLL_UPS = [
    table("day_value", VALUES, "user_id, link_id, dimension, is_bot, value, day"),
    table("day_visitor", VISITORS, "user_id, link_id, is_bot, quarter"),
    table("rolled_clicks", ROLLED, "user_id, number"),
    # a shelf that is named here may have clicks of other days: all others have none
    table("late_shelf", LATE, "user_id, shelf", "ReplacingMergeTree"),
    f"CREATE MATERIALIZED VIEW IF NOT EXISTS late_shelf_of_click TO late_shelf AS {FIND_LATE}",
]


def make_tables(server: ClickHouse) -> None:
    """Makes what is missing. What 0.1.0 left is first upgraded by the upkeep (see `upgrade`)."""
    server.make_database()
    if is_old(table_names(server)):
        return
    for statement in [*OF_CLICKS, *OF_ROLL_UPS, states_table(MARK)]:
        server.work(statement)


def states_table(name: str) -> str:
    return table(name, ROLL_UPS, "shelf, number")


def table_names(server: ClickHouse) -> set[str]:
    return {
        row[0] for row in server.query("SELECT name FROM system.tables WHERE database = currentDatabase()")
    }


def is_old(names: Collection[str]) -> bool:
    """Whether these are the tables of 0.1.0, or of an upgrade of them that is not complete."""
    return "visitor_quarter" in names and MARK not in names


def owners(server: ClickHouse) -> set[int]:
    """The workspaces that any click is of."""
    make_tables(server)
    return {int(id_) for (id_,) in server.query("SELECT DISTINCT user_id FROM owner_quarter")}


def erase_owner(server: ClickHouse, workspace_id: int) -> None:
    """Writes the parts that hold clicks of the owner anew without them, and waits until that is done."""
    make_tables(server)
    server.query(f"SELECT 1 FROM {MARK} LIMIT 1")  # not while an upgrade copies what is to be erased
    for name in TABLES:
        server.work(f"ALTER TABLE {name} DELETE WHERE user_id = {workspace_id:d}", mutations_sync=1)
