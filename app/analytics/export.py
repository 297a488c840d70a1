"""CSV export of reports and of single clicks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import Engine

from app.analytics.periods import QUARTER_MS
from app.analytics.query import StatisticsQuery
from app.analytics.readers import reader_of
from app.analytics.single_clicks import WORDS
from app.analytics.statistics import Row
from app.core.csv_files import csv_pieces

EVERYTHING = 1_000_000_000  # a limit that no report reaches


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
                found = reader_of(connection).visit_page(part, asked, after)
            yield from found.rows
            if found.last is None:
                break
            after = found.last
