"""How quick are statistics, and how large, when much is stored? `python -m bench.statistics`

The past is made by SQL alone, as the ingest would have made it (`--clicks` of it, by default 100,000 and then
1,000,000; the target is meant at 10,000,000), its roll-ups by the worker's own upkeep. Each figure stands
beside its target and beside a plain scan of as many rows in the same run. SQLite, one reader.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlalchemy import NullPool, create_engine
from sqlalchemy.orm import Session

from app.clicks.agents import describe
from app.clicks.engine import checkpoint, open_engine
from app.clicks.periods import DAY_MS, QUARTER_MS
from app.clicks.statistics import Asked, answer, last_days
from app.clicks.terms import Terms
from app.clicks.upkeep import Upkeep
from app.config import Settings, load_settings
from app.database import clicks_path, prepare_engine
from bench.ingest import AGENT
from tests.migrations import environ, migrate

ONE_LINK_MS, ALL_LINKS_MS, BYTES = 50, 500, 500
USER, TIMES, ON_A_PAGE = 1, 7, 100
COLUMNS = "{:<46}{:>12}{:>14}"
# of a number that is as good as random: how many of each there are
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


def fill(settings: Settings, clicks: int, links: int, days: int, now: dt.datetime) -> None:
    """Clicks of one owner: few links have most of them, one visitor in five comes twice."""
    engine = open_engine(settings)
    terms = Terms()
    agents = {AGENT.format(100 + n % 40, n) for n in range(TEXTS["agent"])}
    with engine.begin() as connection:
        for name, many in TEXTS.items():
            terms.ids(connection, agents if name == "agent" else {f"{name} {n}" for n in range(many)})
        describe(connection, terms, agents)
    engine.dispose()
    with closing(sqlite3.connect(clicks_path(settings), isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -400000")
        make_clicks(connection, clicks, links, days, int(now.timestamp()) * 1000)
        for statement in SUMS:
            connection.execute(statement)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def make_clicks(connection: sqlite3.Connection, clicks: int, links: int, days: int, end_ms: int) -> None:
    """In SQL, and with the indexes made afterwards: one by one ten million rows take half an hour."""
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
        INSERT INTO click (time_ms, link_id, user_id, is_bot, visitor, {columns})
        SELECT {end_ms - days * DAY_MS} + cast(n * {days * DAY_MS / clicks!r} AS integer),
            1 + cast({links} * part * part * part AS integer), {USER}, abs(random() % 20) = 0,
            printf('%011x', CASE abs(random() % 5) WHEN 0 THEN n - n % 5 ELSE n END), {values}
        FROM drawn"""
    )
    for _, statement in indexes:
        connection.execute(statement)


def ids_of(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    """The least number of each kind of text, and how many there are; they were given in a row."""
    patterns = ["Mozilla/5.0 %" if name == "agent" else f"{name} %" for name in TEXTS]
    find = "SELECT min(id), count(*) FROM term WHERE value LIKE ?"
    return [connection.execute(find, [pattern]).fetchone() for pattern in patterns]


def first_of(whose: str) -> str:
    return f"""SELECT time_ms / {DAY_MS}, visitor, {whose}, min(time_ms) / {QUARTER_MS}
        FROM click GROUP BY 1, 2, 3"""


def quarters_of(table: str, whose: str, sign: str) -> str:
    return f"""INSERT INTO {table}
        SELECT whose, is_bot, quarter, sum(pageviews), sum(visitors) FROM (
            SELECT {whose} AS whose, is_bot, time_ms / {QUARTER_MS} AS quarter, 1 AS pageviews, 0 AS visitors
            FROM click UNION ALL
            SELECT abs(scope), 0, quarter, 0, 1 FROM seen WHERE scope {sign} 0)
        GROUP BY 1, 2, 3"""


SUMS = (
    f"INSERT INTO seen {first_of('link_id')} ORDER BY 1, 2, 3",
    f"INSERT INTO seen {first_of('-user_id')} ORDER BY 1, 2, 3",
    quarters_of("link_quarter", "link_id", ">"),
    quarters_of("owner_quarter", "user_id", "<"),
    f"INSERT INTO owner_day SELECT user_id, time_ms / {DAY_MS}, count(*), NULL, 0 FROM click GROUP BY 1, 2",
)


def took(call: Callable[[], object]) -> float:
    """Milliseconds: the median of a few times, after one that is nobody's figure."""
    call()
    times = []
    for _ in range(TIMES):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def measure(settings: Settings, clicks: int, links: int, now: dt.datetime) -> bool:
    engine = create_engine(settings.database_url, poolclass=NullPool)
    prepare_engine(engine, settings)
    with Session(engine) as session:
        zone = ZoneInfo("Europe/Berlin")
        month = Asked(user_id=USER, start=(now - dt.timedelta(29)).date(), end=now.date(), zone=zone)
        most = replace(month, link_ids=(1,))
        few = replace(month, link_ids=(links // 2,))
        scan = took(
            lambda: (
                session.connection().exec_driver_sql("SELECT sum(pageviews) FROM clicks.owner_quarter").all()
            )
        )
        print(COLUMNS.format(f"of {clicks:,} clicks of {links:,} links", "ms", "target"))
        held = [
            told("30 days of the link with most", took(lambda: answer(session, most)), ONE_LINK_MS),
            told("30 days of a link with few", took(lambda: answer(session, few)), ONE_LINK_MS),
            told("30 days of all links", took(lambda: answer(session, month)), ALL_LINKS_MS),
            told(
                "the page's small lines, 100 links",
                took(lambda: last_days(session, range(1, ON_A_PAGE + 1), 30, zone, now.date())),
                200,
            ),
        ]
        for name in ("country_code", "browser_name", "referrer_path", "hour"):
            told(f"{name}, the link with most", took(partial(answer, session, replace(most, type=name))))
            told(f"{name}, all links", took(partial(answer, session, replace(month, type=name))))
        told(
            "one filter, the link with most",
            took(lambda: answer(session, replace(most, filters={"country_code": "country_code 1"}))),
        )
        told("(a plain scan of the owner's quarters)", scan)
    size = clicks_path(settings).stat().st_size / clicks
    print(COLUMNS.format("bytes a click, rows, indexes and roll-ups", f"{size:.0f}", BYTES))
    return all(held) and size <= BYTES


def told(what: str, ms: float, target: int | None = None) -> bool:
    print(COLUMNS.format(what, f"{ms:.1f}", f"{target} ({ms / target:.2f})" if target else ""))
    return target is None or ms <= target


def roll_up(settings: Settings, now: dt.datetime, seconds: float) -> None:
    """What the worker does with days that are over, the last ones first, in steps between the visits."""
    upkeep = Upkeep(settings)
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
    checkpoint(engine)
    engine.dispose()


def run(clicks: int, links: int, days: int, seconds: float) -> bool:
    now = dt.datetime.now(dt.UTC)
    with tempfile.TemporaryDirectory() as place:
        migrate(Path(place))
        settings = load_settings(environ(Path(place)))
        start = time.perf_counter()
        fill(settings, clicks, links, days, now)
        print(f"\n{clicks:,} clicks made in {time.perf_counter() - start:.0f} s", end=", ", flush=True)
        roll_up(settings, now, seconds)
        return measure(settings, clicks, links, now)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--clicks", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--days", type=int, default=60, help="that the clicks are of")
    parser.add_argument("--seconds", type=float, default=3600, help="of rolling up, at most")
    asked = parser.parse_args()
    if not all(run(clicks, asked.links, asked.days, asked.seconds) for clicks in asked.clicks):
        sys.exit("BELOW TARGET")


if __name__ == "__main__":
    main()
