"""Stores many links and clicks for benchmarks, as if they had come one by one.

SQL alone makes the rows and their sums, as the ingest would have made them. The worker's own upkeep makes the
roll-ups of past days.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
import time
from contextlib import closing

from app.analytics.engine import checkpoint_wal, open_engine
from app.analytics.interning import Interner
from app.analytics.periods import DAY_MS, QUARTER_MS
from app.analytics.rows import store_descriptions
from app.analytics.upkeep import open_upkeep
from app.core.config import Settings
from app.core.database import clicks_path
from bench._stored_links import store
from bench.ingest import AGENT

USER = 1
# how many texts of each column there are, of which clicks draw at random
TEXTS = {
    "country_code": 60,
    "continent_code": 6,
    "city_name": 500,
    "agent": 1000,
    "language": 12,
    "referrer_host": 50,
    "referrer_path": 400,
    "utm_source": 8,
    "utm_medium": 4,
    "utm_campaign": 12,
    "destination": 300,
}


def text_of(name: str, number: object) -> str:
    """One of a column's texts. A path begins as paths do: a filter tells it from its host by that."""
    return f"{'/' if name == 'referrer_path' else ''}{name} {number}"


def fill(settings: Settings, clicks: int, links: int, days: int, now: dt.datetime) -> None:
    """Store one owner's links and clicks. Few links have most clicks, and one visitor in five comes twice."""
    store(settings.data_dir / "main.db", links)
    fill_clicks(settings, clicks, links, days, now)


def fill_clicks(settings: Settings, clicks: int, links: int, days: int, now: dt.datetime) -> None:
    """Store clicks of existing links."""
    engine = open_engine(settings)
    terms = Interner()
    agents = {AGENT.format(100 + n % 40, n) for n in range(TEXTS["agent"])}
    with engine.begin() as writer:
        for name, many in TEXTS.items():
            terms.ids(writer, agents if name == "agent" else {text_of(name, n) for n in range(many)})
        store_descriptions(writer, terms, agents)
    engine.dispose()
    with closing(sqlite3.connect(clicks_path(settings), isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -400000")
        make_clicks(connection, clicks, links, days, int(now.timestamp()) * 1000)
        for statement in SUMS:
            connection.execute(statement)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def make_clicks(connection: sqlite3.Connection, clicks: int, links: int, days: int, end_ms: int) -> None:
    """Insert clicks by SQL, build the indexes afterwards: one by one ten million rows take half an hour."""
    find = "SELECT name, sql FROM sqlite_master WHERE tbl_name = 'click' AND type = 'index'"
    indexes = connection.execute(find).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    values = ", ".join(f"{least} + abs(random() % {many})" for least, many in ids_of(connection))
    columns = ", ".join(f"{name}_id" for name in TEXTS)
    connection.execute(
        f"""WITH RECURSIVE
        numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {clicks - 1}),
        drawn AS MATERIALIZED (SELECT n, abs(random() % 1000000) / 1000000.0 AS part FROM numbers)
        INSERT INTO click (time_ms, link_id, workspace_id, is_bot, visitor, {columns})
        SELECT {end_ms - days * DAY_MS} + cast(n * {days * DAY_MS / clicks!r} AS integer),
            1 + cast({links} * part * part * part AS integer), {USER}, abs(random() % 20) = 0,
            printf('%011x', CASE abs(random() % 5) WHEN 0 THEN n - n % 5 ELSE n END), {values}
        FROM drawn"""
    )
    for _, statement in indexes:
        connection.execute(statement)


def ids_of(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    """The lowest id of each kind of text, and the number of texts. Their ids are consecutive."""
    patterns = ["Mozilla/5.0 %" if name == "agent" else text_of(name, "%") for name in TEXTS]
    find = "SELECT min(id), count(*) FROM term WHERE value LIKE ?"
    return [connection.execute(find, [pattern]).fetchone() for pattern in patterns]


def first_of(whose: str) -> str:
    return f"""SELECT time_ms / {DAY_MS}, visitor, {whose}, min(time_ms) / {QUARTER_MS}
        FROM click GROUP BY 1, 2, 3, 4"""


def quarters_of(table: str, whose: str, *, is_workspace: bool) -> str:
    return f"""INSERT INTO {table}
        SELECT whose, is_bot, quarter, sum(pageviews), sum(visitors) FROM (
            SELECT {whose} AS whose, is_bot, time_ms / {QUARTER_MS} AS quarter, 1 AS pageviews, 0 AS visitors
            FROM click UNION ALL
            SELECT scope_id, 0, quarter, 0, 1 FROM seen WHERE is_workspace = {is_workspace})
        GROUP BY 1, 2, 3"""


SUMS = (
    f"INSERT INTO seen {first_of('0, link_id')} ORDER BY 1, 2, 3, 4",
    f"INSERT INTO seen {first_of('1, workspace_id')} ORDER BY 1, 2, 3, 4",
    quarters_of("link_quarter", "link_id", is_workspace=False),
    quarters_of("owner_quarter", "workspace_id", is_workspace=True),
    "INSERT INTO counter SELECT link_id, count(*) FROM click WHERE NOT is_bot GROUP BY 1",
    f"""INSERT INTO owner_day
        SELECT workspace_id, time_ms / {DAY_MS}, count(*), NULL, 0 FROM click GROUP BY 1, 2""",
)


def roll_up(settings: Settings, now: dt.datetime, seconds: float) -> bool:
    """Roll up past days as the worker does, newest first, in steps."""
    upkeep = open_upkeep(settings)
    start = time.perf_counter()
    longest = 0.0
    is_more = True
    while is_more and time.perf_counter() - start < seconds:
        begun = time.perf_counter()
        is_more = upkeep.step(now)
        longest = max(longest, time.perf_counter() - begun)
    spent = time.perf_counter() - start
    print(
        f"{'in part ' if is_more else ''}rolled up in {spent:.0f} s, the longest step {longest * 1000:.0f} ms"
    )
    upkeep.close()
    engine = open_engine(settings)
    checkpoint_wal(engine)
    engine.dispose()
    return not is_more
