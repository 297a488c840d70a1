"""In which hours of the week do people come?"""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

from app.clicks.statistics import hours_of_week
from app.dashboard.statistics import figures
from app.dashboard.statistics.scopes import Scope
from app.dashboard.statistics.state import State
from app.extensions import db
from app.languages import dated


class Cell(NamedTuple):
    """An hour of a day of the week."""

    hour: int
    pageviews: int
    visitors: int
    shade: int


def day_name(number: int) -> str:
    """0 is Monday."""
    return dated(dt.date(2024, 1, 1 + number), "EEEE")


def week(scope: Scope, state: State) -> dict[str, Any]:
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
