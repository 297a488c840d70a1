"""How many clicks of the last day a handler would have been told of."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from sqlalchemy import select

from app.analytics.periods import QUARTER_MS, QUARTERS
from app.analytics.readers import reader_of
from app.analytics.scope import Scope
from app.core.database import AnySession
from app.links.models import link_notification_handler
from app.notifications.click_filter import ClickFilter

MAX_COUNTRIES = 10  # each is a query of its own


def count_matches(
    session: AnySession, workspace_id: int, link_ids: Sequence[int] | None, click_filter: ClickFilter
) -> int | None:
    """The clicks of the last 24 hours on these links (None: all) that pass a filter.

    None where the filter names too many countries to count. Raises StatisticsUnavailable.
    """
    if len(click_filter.countries) > MAX_COUNTRIES:
        return None
    last = int(time.time() * 1000) // QUARTER_MS + 1
    reader, links = reader_of(session), None if link_ids is None else tuple(link_ids)
    wanted: list[Mapping[str, str | None]] = [{"country_code": code} for code in click_filter.countries]
    counts: dict[int, int] = {}
    for filters in wanted or [{}]:
        scope = Scope(workspace_id, links, click_filter.is_bot, filters)
        for link_id, clicks in reader.by_link(scope, last - QUARTERS, last).items():
            counts[link_id] = counts.get(link_id, 0) + clicks
    if click_filter.first:
        return len(counts)
    return sum(clicks // click_filter.every for clicks in counts.values())


def links_naming(session: AnySession, handler_id: int) -> Sequence[int]:
    """The links that name a handler."""
    column = link_notification_handler.c
    return session.scalars(select(column.link_id).where(column.notification_handler_id == handler_id)).all()
