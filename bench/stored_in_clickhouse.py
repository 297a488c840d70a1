"""Stores many clicks in ClickHouse for benchmarks: the engine itself draws them, day by day."""

from __future__ import annotations

import datetime as dt

from app.analytics.clickhouse.client import clickhouse_of
from app.analytics.clickhouse.tables import COLUMNS, make_tables
from app.analytics.periods import DAY_MS
from app.core.config import Settings
from bench._stored_links import store
from bench.stored import TEXTS, USER, text_of
from tests.clickhouse_server import ClickHouseServer

DRAWN = {
    "id": "number",
    "user_id": str(USER),
    "is_bot": "rand(1) % 20 = 0",
    "bot_name": "''",
    "device_type": "['desktop', 'mobile', 'tablet'][1 + rand(2) % 3]",
    "os_name": "['Windows', 'Android', 'iOS', 'macOS', 'Linux'][1 + rand(3) % 5]",
    "browser_name": "['Chrome', 'Safari', 'Firefox', 'Edge'][1 + rand(4) % 4]",
}


def fill(
    server: ClickHouseServer, settings: Settings, clicks: int, links: int, days: int, now: dt.datetime
) -> None:
    """Store one owner's links with clicks. Few links have most, and one visitor in five comes twice."""
    store(settings.data_dir / "main.db", links)
    make_tables(clickhouse_of(settings.clickhouse_url or ""))
    today = int(now.timestamp() * 1000) // DAY_MS
    each = clicks // days
    for day in range(today - days + 1, today + 1):
        server.query(f"INSERT INTO clicks.click ({', '.join(COLUMNS)}) {drawn(day, each, links)}")


def drawn(day: int, clicks: int, links: int) -> str:
    values = {
        **{
            name: f"concat('{text_of(name, '')}', toString(rand({10 + n}) % {many}))"
            for n, (name, many) in enumerate(TEXTS.items())
        },
        **DRAWN,
        "shelf": str(day),
        "time_ms": f"{day * DAY_MS} + intDiv(number * {DAY_MS}, {clicks})",
        "link_id": f"1 + toUInt64({links} * pow(rand(5) / 4294967296, 3))",
        "visitor": "lower(hex(if(rand(6) % 5 = 0, number - number % 5, number)))",
    }
    return f"SELECT {', '.join(values[name] for name in COLUMNS)} FROM numbers({clicks})"
