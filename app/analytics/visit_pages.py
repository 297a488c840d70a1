"""Pages of single clicks as texts, in the order of their time."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, select, tuple_

from app.analytics import raw_queries
from app.analytics.click_reader import VisitPage
from app.analytics.interned_texts import texts_of
from app.analytics.models import Click
from app.analytics.query import StatisticsQuery
from app.analytics.raw_queries import AGENTS, CLICKS
from app.analytics.scope import Bind, Scope
from app.core.clock import written_ms

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
