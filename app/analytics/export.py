"""CSV export of reports and of single clicks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import Engine, Select, select, tuple_

from app.analytics import raw_queries
from app.analytics.interned_texts import texts_of
from app.analytics.models import Click
from app.analytics.periods import QUARTER_MS
from app.analytics.raw_queries import AGENTS, CLICKS
from app.analytics.scope import Bind, Scope
from app.analytics.statistics import Row, StatisticsQuery
from app.core.clock import written_ms
from app.core.csv_files import csv_pieces

EVERYTHING = 1_000_000_000  # a limit that no report reaches
BATCH_SIZE = 1000
WORDS = {
    "bot_name": CLICKS.c.bot_name_id,
    "referrer_host": CLICKS.c.referrer_host_id,
    "referrer_path": CLICKS.c.referrer_path_id,
    "continent_code": CLICKS.c.continent_code_id,
    "country_code": CLICKS.c.country_code_id,
    "city_name": CLICKS.c.city_name_id,
    "device_type": AGENTS.c.device_type_id,
    "os_name": AGENTS.c.os_name_id,
    "browser_name": AGENTS.c.browser_name_id,
    "browser_language": CLICKS.c.language_id,
    "utm_source": CLICKS.c.utm_source_id,
    "utm_medium": CLICKS.c.utm_medium_id,
    "utm_campaign": CLICKS.c.utm_campaign_id,
    "destination": CLICKS.c.destination_id,
}


def export_report(rows: Sequence[Row], type_: str) -> Iterator[str]:
    """A report's rows as CSV."""
    first = {"overview": "formatted_date"}.get(type_, type_)
    head = (first, "pageviews", "visitors")
    return csv_pieces(chain([head], (row.values() for row in rows)), has_mark=False)


def export_visits(engine: Engine, asked: StatisticsQuery) -> Iterator[str]:
    """All clicks of the query as CSV, oldest first."""
    head = ("datetime", "link_id", "is_bot", *WORDS)
    return csv_pieces(chain([head], visit_rows(engine, asked)), has_mark=False)


def visit_rows(engine: Engine, asked: StatisticsQuery) -> Iterator[list[Any]]:
    """Rows of clicks, read in pages with a connection each, so that no long transaction blocks others."""
    for part in asked.scope.parts:
        after = (asked.period.first * QUARTER_MS, 0)
        while True:
            with engine.connect() as connection:
                found = visit_page(connection, part, asked, after)
            yield from found.rows
            if found.last is None:
                break
            after = found.last


class VisitPage:
    def __init__(self, rows: list[list[Any]], last: tuple[int, int] | None) -> None:
        self.rows, self.last = rows, last


def visit_page(bind: Bind, scope: Scope, asked: StatisticsQuery, after: tuple[int, int]) -> VisitPage:
    """The next page of clicks, as texts; `last` is where to go on, None where there are no more."""
    found = bind.execute(next_visits(bind, scope, asked, after)).all()
    texts = texts_of(bind, {id_ for row in found for id_ in row[4:]})
    rows = [
        [written_ms(row.time_ms), row.link_id, int(row.is_bot), *(texts.get(id_, "") for id_ in row[4:])]
        for row in found
    ]
    return VisitPage(rows, (found[-1].time_ms, found[-1].id) if len(found) == BATCH_SIZE else None)


def next_visits(bind: Bind, scope: Scope, asked: StatisticsQuery, after: tuple[int, int]) -> Select[Any]:
    period = asked.period
    place = tuple_(Click.time_ms, Click.id)
    wanted = [
        *raw_queries.conditions(bind, scope, period.first, period.last),
        Click.time_ms >= after[0],
        place > after,
    ]
    columns = (Click.id, Click.time_ms, Click.link_id, Click.is_bot, *WORDS.values())
    found = select(*columns).select_from(raw_queries.source(WORDS_OF_AGENT)).where(*wanted)
    return found.order_by(Click.time_ms, Click.id).limit(BATCH_SIZE)


WORDS_OF_AGENT = ("device_type",)
