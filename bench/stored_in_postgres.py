"""Stores many links and clicks in PostgreSQL for benchmarks: the server itself draws them, month by month."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import psycopg

from app.analytics.dimensions import DIMENSIONS
from app.analytics.engine import open_engine
from app.analytics.interning import Interner
from app.analytics.partitions import make_months, month_of, next_month, start_ms
from app.analytics.periods import DAY_MS, QUARTER_MS
from app.analytics.rows import store_descriptions
from app.core.config import Settings
from bench.ingest import AGENT
from bench.stored import TEXTS, USER, text_of
from tests import postgres

# of a server with 8 GB for itself; a cluster of the tests has PostgreSQL's own defaults
MEMORY = "SET work_mem = '1GB'; SET maintenance_work_mem = '1GB'"
LINKS = """
    INSERT INTO link (workspace_id, user_id, type, url, location_url, is_enabled, schedule, password_version,
        sensitive_content, http_status_code, app_linking_is_enabled, cloaking_is_enabled,
        forward_query_parameters_is_enabled, targeting, datetime)
    SELECT 1, 1, 'link', 'k' || lpad(n::text, 7, '0'), 'https://example.com/page/' || n || '?x=1', true,
        false, 0, false, 302, false, false, false, '[]', '2026-01-01'
    FROM generate_series(0, %(links)s - 1) AS n
"""
ALIASES = (
    "INSERT INTO alias (domain_id, key, link_id, workspace_id) SELECT 0, url, id, workspace_id FROM link"
)
INDEXES = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = 'clicks.click'::regclass AND NOT indisprimary
"""
FIRST = f"""
    SELECT time_ms / {DAY_MS} AS day, visitor, {{whose}} AS whose, min(time_ms) / {QUARTER_MS} AS quarter
    FROM clicks.click WHERE time_ms >= {{first}} AND time_ms < {{last}} GROUP BY 1, 2, 3
"""


def make_database(name: str) -> None:
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")


def fill(settings: Settings, clicks: int, links: int, days: int, now: dt.datetime) -> None:
    """Store one owner's links with clicks. Few links have most, and one visitor in five comes twice."""
    end_ms = int(now.timestamp()) * 1000
    months = [*months_of(now.date() - dt.timedelta(days), now.date())]
    engine = open_engine(settings)
    terms = Interner()
    agents = {AGENT.format(100 + n % 40, n) for n in range(TEXTS["agent"])}
    with engine.begin() as writer:
        make_months(writer, months)
        for name, many in TEXTS.items():
            terms.ids(writer, agents if name == "agent" else {text_of(name, n) for n in range(many)})
        store_descriptions(writer, terms, agents)
    engine.dispose()
    with psycopg.connect(settings.database_url.replace("+psycopg", ""), autocommit=True) as connection:
        for statement in MEMORY.split(";"):
            connection.execute(statement)
        connection.execute(LINKS, {"links": links})
        connection.execute(ALIASES)
        make_clicks(connection, clicks, links, days, end_ms)
        for month in months:
            span = start_ms(month), start_ms(next_month(month))
            for statement in sums(*span, end_ms):
                connection.execute(statement)
            for statement in roll_ups(*span, end_ms // DAY_MS):
                connection.execute(statement)
        connection.execute("ANALYZE")


def months_of(first: dt.date, last: dt.date) -> Iterator[dt.date]:
    month = month_of(first)
    while month <= last:
        yield month
        month = next_month(month)


def make_clicks(connection: psycopg.Connection, clicks: int, links: int, days: int, end_ms: int) -> None:
    """Insert clicks, build the indexes afterwards."""
    indexes = connection.execute(INDEXES).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    values = ", ".join(f"{least} + floor(random() * {many})::bigint" for least, many in ids_of(connection))
    columns = ", ".join(f"{name}_id" for name in TEXTS)
    connection.execute(
        f"""INSERT INTO clicks.click (time_ms, link_id, workspace_id, is_bot, visitor, {columns})
        SELECT {end_ms - days * DAY_MS} + (n * {days * DAY_MS / clicks!r})::bigint,
            1 + floor({links} * power(random(), 3))::bigint, {USER}, random() < 0.05,
            lpad(to_hex(CASE WHEN random() < 0.2 THEN n - n % 5 ELSE n END), 11, '0'), {values}
        FROM generate_series(0, {clicks - 1}::bigint) AS n"""
    )
    for _, statement in indexes:
        connection.execute(statement.replace(" ON ONLY ", " ON "))  # of all partitions


def ids_of(connection: psycopg.Connection) -> list[tuple[int, int]]:
    """The lowest id of each kind of text, and the number of texts. Their ids are consecutive."""
    patterns = ["Mozilla/5.0 %" if name == "agent" else text_of(name, "%") for name in TEXTS]
    find = "SELECT min(id), count(*), max(id) FROM clicks.term WHERE value LIKE %s"
    found = [connection.execute(find, [pattern]).fetchone() or (0, 0, 0) for pattern in patterns]
    if any(last - first + 1 != count for first, count, last in found):
        raise SystemExit("WRONG: the ids of texts are not consecutive")
    return [(first, count) for first, count, _ in found]


def sums(first: int, last: int, end_ms: int) -> Iterator[str]:
    """Statements that add up a month as the ingest does. Who came is only stored of the last days."""
    for table, key in (("link_quarter", "link_id"), ("owner_quarter", "workspace_id")):
        yield f"""INSERT INTO clicks.{table} ({key}, is_bot, quarter, pageviews, visitors)
            SELECT whose, is_bot, quarter, sum(pageviews), sum(visitors) FROM (
                SELECT {key} AS whose, is_bot, time_ms / {QUARTER_MS} AS quarter, count(*) AS pageviews,
                    0 AS visitors
                FROM clicks.click WHERE time_ms >= {first} AND time_ms < {last} GROUP BY 1, 2, 3
                UNION ALL SELECT whose, false, quarter, 0, count(*)
                FROM ({FIRST.format(whose=key, first=first, last=last)}) AS came GROUP BY 1, 3) AS counted
            GROUP BY 1, 2, 3"""
    recent = max(first, end_ms - 2 * DAY_MS)
    for whose in ("link_id", "workspace_id"):
        yield f"""INSERT INTO clicks.seen (day, visitor, is_workspace, scope_id, quarter)
            SELECT day, visitor, {whose == "workspace_id"}, whose, quarter
            FROM ({FIRST.format(whose=whose, first=recent - recent % DAY_MS, last=last)}) AS came
            ON CONFLICT DO NOTHING"""
    yield f"""INSERT INTO clicks.owner_day (workspace_id, day, visits, rolled, is_pruned)
        SELECT workspace_id, time_ms / {DAY_MS}, count(*), NULL, false FROM clicks.click
        WHERE time_ms >= {first} AND time_ms < {last} GROUP BY 1, 2"""
    yield f"""INSERT INTO clicks.counter (link_id, clicks)
        SELECT link_id, count(*) FROM clicks.click
        WHERE NOT is_bot AND time_ms >= {first} AND time_ms < {last}
        GROUP BY 1 ON CONFLICT (link_id) DO UPDATE SET clicks = counter.clicks + excluded.clicks"""


def roll_ups(first: int, last: int, today: int) -> Iterator[str]:
    """Statements that make the values of the days that are over, of all links together."""
    span = f"time_ms >= {first} AND time_ms < {min(last, today * DAY_MS)}"
    for dimension in DIMENSIONS.values():
        columns = [f"coalesce({name}, 0)" for name in dimension.columns] + ["0"] * (
            2 - len(dimension.columns)
        )
        values = f"{columns[0]} AS value_id, {columns[1]} AS path_id"
        yield f"""INSERT INTO clicks.owner_value
            (workspace_id, dimension, is_bot, day, value_id, path_id, pageviews, visitors)
            SELECT workspace_id, {dimension.number}, is_bot, day, value_id, path_id, sum(n), count(visitor)
            FROM (
                SELECT workspace_id, is_bot, time_ms / {DAY_MS} AS day, {values}, visitor, count(*) AS n
                FROM clicks.click LEFT JOIN clicks.agent ON agent.id = agent_id
                WHERE {span} GROUP BY 1, 2, 3, 4, 5, 6) AS came
            GROUP BY 1, 3, 4, 5, 6"""
    days = f"day >= {first // DAY_MS} AND day < {min(last // DAY_MS, today)}"
    yield f"UPDATE clicks.owner_day SET rolled = visits WHERE {days}"
