"""Single clicks in SQLite and PostgreSQL: pages of exports, the latest ones, and batches for the feed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select, tuple_

from app.analytics import raw_queries
from app.analytics.click_reader import ClickBatch, LatestVisit, ToldClick, VisitPage
from app.analytics.interning import texts_of
from app.analytics.models import Click
from app.analytics.periods import QUARTER_MS
from app.analytics.query import StatisticsQuery
from app.analytics.raw_queries import AGENTS, CLICKS, conditions, source
from app.analytics.scope import NONE, Bind, Scope, VisitCounts, add_counts
from app.core.clock import written_ms
from app.core.scheduling import giving_way
from app.redirects.user_agent import parse_device

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
WORDS_OF_AGENT = ("device_type",)


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


# what is told of a click beside its numbers, by the names of the API: no bot's name, no agent, no visitor
TOLD = {name: column for name, column in WORDS.items() if name != "bot_name"}
NUMBERS = (CLICKS.c.id, CLICKS.c.time_ms, CLICKS.c.link_id, CLICKS.c.is_bot)
# a batch of a longer time holds late clicks: others of the workspace within that time may be very many
WIDE_MS = 60 * 60 * 1000


def told_clicks(
    bind: Bind, workspace_id: int, batches: Sequence[ClickBatch], link_id: int | None
) -> list[ToldClick]:
    """The clicks of a workspace in these batches, by id; with `link_id` only those on that link."""
    wanted = [or_(*(within(workspace_id, batch) for batch in batches))]
    if link_id is not None:
        wanted.append(CLICKS.c.link_id == link_id)
    found = select(*NUMBERS, *TOLD.values()).select_from(source(WORDS_OF_AGENT)).where(*wanted)
    rows = bind.execute(found.order_by(CLICKS.c.id)).all()
    texts = texts_of(bind, {id_ for row in rows for id_ in row[len(NUMBERS) :]})
    return [
        ToldClick(id_, time_ms, link, is_bot, tuple(texts.get(word) or None for word in words))
        for id_, time_ms, link, is_bot, *words in giving_way(rows)
    ]


def within(workspace_id: int, batch: ClickBatch) -> ColumnElement[bool]:
    """Whether a row is of a batch: found by the time where that is short, else by the ids alone."""
    ids = CLICKS.c.id.between(batch.first_id, batch.last_id)
    if batch.last_ms - batch.first_ms > WIDE_MS:
        return and_(CLICKS.c.workspace_id + 0 == workspace_id, ids)  # the sum keeps it from the index by time
    return and_(
        CLICKS.c.workspace_id == workspace_id, CLICKS.c.time_ms.between(batch.first_ms, batch.last_ms), ids
    )
