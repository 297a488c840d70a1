"""The latest clicks, and clicks in each of the last minutes.

Both read the newest rows only, because pages poll them while they are open.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, func, select

from app.analytics.click_reader import LatestVisit
from app.analytics.interned_texts import texts_of
from app.analytics.periods import QUARTER_MS
from app.analytics.query import StatisticsQuery
from app.analytics.raw_queries import CLICKS, conditions, source
from app.analytics.scope import NONE, Bind, Scope, VisitCounts, add_counts
from app.redirects.user_agent import parse_device

MINUTE_MS = 60 * 1000
TEXTS = (
    "country_code", "city_name", "agent", "language", "referrer_host", "referrer_path", "utm_source",
    "destination", "bot_name",
)  # fmt: skip


def latest_visits(bind: Bind, asked: StatisticsQuery, limit: int = 20) -> list[LatestVisit]:
    """The last clicks within the period, the newest first."""
    found = find_newest(bind, asked, limit)
    texts = texts_of(bind, {getattr(row, f"{name}_id") for row in found for name in TEXTS})
    return [
        make_visit(row, {name: texts.get(getattr(row, f"{name}_id"), "") for name in TEXTS}) for row in found
    ]


def latest_click(bind: Bind, link_id: int) -> dt.datetime | None:
    """The time of a person's last click on a link, among the clicks that are kept."""
    of_link = select(CLICKS.c.time_ms).where(CLICKS.c.link_id == link_id, CLICKS.c.is_bot.is_(False))
    found = bind.execute(of_link.order_by(CLICKS.c.time_ms.desc()).limit(1)).scalar()
    return None if found is None else dt.datetime.fromtimestamp(found // 1000, dt.UTC)


def find_newest(bind: Bind, asked: StatisticsQuery, limit: int) -> Sequence[Row[Any]]:
    found: list[Row[Any]] = []
    for part in asked.scope.parts:
        wanted = conditions_of(bind, part, asked)
        order = (CLICKS.c.time_ms.desc(), CLICKS.c.id.desc())
        some = select(CLICKS).select_from(source(part.filters)).where(*wanted)
        found += bind.execute(some.order_by(*order).limit(limit))
    return sorted(found, key=lambda row: (-row.time_ms, -row.id))[:limit]


def conditions_of(bind: Bind, scope: Scope, asked: StatisticsQuery) -> list[ColumnElement[bool]]:
    first, last = asked.period.first, asked.period.last
    return [*conditions(bind, scope, first, last), CLICKS.c.time_ms >= first * QUARTER_MS]


def make_visit(row: Row[Any], words: dict[str, str]) -> LatestVisit:
    agent = words.pop("agent")
    when = dt.datetime.fromtimestamp(row.time_ms // 1000, dt.UTC)
    return LatestVisit(id=row.id, datetime=when, link_id=row.link_id, device=parse_device(agent), **words)


def by_minute(bind: Bind, asked: StatisticsQuery, now: dt.datetime, minutes: int) -> list[VisitCounts]:
    """Clicks and visitors in each of the last minutes, the current minute last.

    A visitor counts in the minute of their first click among these.
    """
    last = int(now.timestamp() * 1000) // MINUTE_MS
    begin = (last - minutes + 1) * MINUTE_MS
    counts = [NONE] * minutes
    for part in asked.scope.parts:
        # `conditions` knows only quarters of an hour; the condition on time_ms narrows them to the minutes
        wanted = conditions(bind, part, begin // QUARTER_MS, (last * MINUTE_MS) // QUARTER_MS + 1)
        for number, count in count_since(bind, part, [*wanted, CLICKS.c.time_ms >= begin], begin):
            if number < minutes:
                counts[number] = add_counts([counts[number], count])
    return counts


def count_since(
    bind: Bind, scope: Scope, wanted: Sequence[ColumnElement[bool]], begin: int
) -> list[tuple[int, VisitCounts]]:
    minute = ((CLICKS.c.time_ms - begin) // MINUTE_MS).label("minute")
    views = select(minute, func.count()).select_from(source(scope.filters)).where(*wanted).group_by(minute)
    firsts = select(CLICKS.c.visitor, func.min(CLICKS.c.time_ms - begin).label("first"))
    firsts = firsts.select_from(source(scope.filters))
    came = firsts.where(*wanted, CLICKS.c.visitor.is_not(None)).group_by(CLICKS.c.visitor).subquery()
    first = (came.c.first // MINUTE_MS).label("minute")
    people = select(first, func.count()).group_by(first)
    return [
        *((row[0], VisitCounts(row[1], 0)) for row in bind.execute(views)),
        *((row[0], VisitCounts(0, row[1])) for row in bind.execute(people)),
    ]
