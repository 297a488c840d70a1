"""Clicks by hour of the week, for the heat map."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

from app.analytics.statistics import hours_of_week
from app.core.extensions import db
from app.dashboard.statistics import figures
from app.dashboard.statistics.scopes import PageScope
from app.dashboard.statistics.state import PageState
from app.i18n import dated


class Cell(NamedTuple):
    """An hour of a day of the week."""

    hour: int
    pageviews: int
    visitors: int
    shade: int


def day_name(number: int) -> str:
    """Name of a weekday; 0 is Monday."""
    return dated(dt.date(2024, 1, 1 + number), "EEEE")


def week(scope: PageScope, state: PageState) -> dict[str, Any]:
    found = hours_of_week(db.session, scope.asked(state, "overview"))
    most = max(count.pageviews for counts in found for count in counts)
    days = [
        (
            name,
            [Cell(hour, *count, figures.shade(count.pageviews, most)) for hour, count in enumerate(counts)],
        )
        for name, counts in zip(map(day_name, range(7)), found, strict=True)
    ]
    return {"days": days, "is_empty": not most, "scale": range(figures.SHADES + 1), "most": most}
