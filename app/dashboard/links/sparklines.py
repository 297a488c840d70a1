"""Small line charts of clicks for the rows of the link list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from app.analytics.statistics import last_days
from app.core.extensions import db
from app.dashboard.shared import rendering
from app.dashboard.statistics import figures

DAYS = 30
WIDTH, HEIGHT = 87, 22  # three units a day, so that few decimals are needed


class SmallLine(NamedTuple):
    """The clicks of the last days: how many, and the points of their line."""

    clicks: int
    points: str


def small_lines(links: Sequence[int]) -> dict[int, SmallLine]:
    """The lines of all links of a page, with one query."""
    found = last_days(db.session, links, DAYS, rendering.zone()) if links else {}
    return {
        id_: SmallLine(sum(counts), figures.points(counts, WIDTH, HEIGHT)) for id_, counts in found.items()
    }
