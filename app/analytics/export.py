"""How do reports, and the single visits behind them, get into a spreadsheet?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import Engine, Select, select, tuple_

from app.clicks import raw
from app.clicks.models import Click
from app.clicks.periods import QUARTER_MS
from app.clicks.raw import AGENTS, CLICKS
from app.clicks.scope import Bind, Scope
from app.clicks.statistics import Asked, Row
from app.clicks.words import texts_of
from app.clock import written_ms
from app.csv_files import csv_pieces

EVERYTHING = 1_000_000_000  # as a limit: no report has as many rows
AT_ONCE = 1000
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


def report(rows: Sequence[Row], type_: str) -> Iterator[str]:
    """A report's rows as CSV."""
    first = {"overview": "formatted_date"}.get(type_, type_)
    head = (first, "pageviews", "visitors")
    return csv_pieces(chain([head], (row.values() for row in rows)), has_mark=False)


def visits(engine: Engine, asked: Asked) -> Iterator[str]:
    """Every visit asked for as CSV, oldest first."""
    head = ("datetime", "link_id", "is_bot", *WORDS)
    return csv_pieces(chain([head], visit_rows(engine, asked)), has_mark=False)


def visit_rows(engine: Engine, asked: Asked) -> Iterator[list[Any]]:
    """Read in pages, each by itself, so that nothing waits."""
    for part in asked.scope.parts:
        after = (asked.period.first * QUARTER_MS, 0)
        while True:
            with engine.connect() as connection:
                found = page(connection, part, asked, after)
            yield from found.rows
            if found.last is None:
                break
            after = found.last


class Page:
    def __init__(self, rows: list[list[Any]], last: tuple[int, int] | None) -> None:
        self.rows, self.last = rows, last


def page(bind: Bind, scope: Scope, asked: Asked, after: tuple[int, int]) -> Page:
    """The next visits in words; `last` says where to go on, None where there are no more."""
    found = bind.execute(next_visits(bind, scope, asked, after)).all()
    texts = texts_of(bind, {id_ for row in found for id_ in row[4:]})
    rows = [
        [written_ms(row.time_ms), row.link_id, int(row.is_bot), *(texts.get(id_, "") for id_ in row[4:])]
        for row in found
    ]
    return Page(rows, (found[-1].time_ms, found[-1].id) if len(found) == AT_ONCE else None)


def next_visits(bind: Bind, scope: Scope, asked: Asked, after: tuple[int, int]) -> Select[Any]:
    period = asked.period
    place = tuple_(Click.time_ms, Click.id)
    wanted = [
        *raw.conditions(bind, scope, period.first, period.last),
        Click.time_ms >= after[0],
        place > after,
    ]
    columns = (Click.id, Click.time_ms, Click.link_id, Click.is_bot, *WORDS.values())
    found = select(*columns).select_from(raw.source(WORDS_OF_AGENT)).where(*wanted)
    return found.order_by(Click.time_ms, Click.id).limit(AT_ONCE)


WORDS_OF_AGENT = ("device_type",)
