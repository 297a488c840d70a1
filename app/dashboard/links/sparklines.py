"""How is each link of a list doing, at a glance?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from app.clicks.statistics import last_days
from app.dashboard import pages
from app.dashboard.statistics import figures
from app.extensions import db

DAYS = 30
WIDTH, HEIGHT = 87, 22  # three units a day, so that few decimals are needed


class SmallLine(NamedTuple):
    """The clicks of the last days: how many, and the points of their line."""

    clicks: int
    points: str


def small_lines(links: Sequence[int]) -> dict[int, SmallLine]:
    """Of all the links of a page, with one query."""
    found = last_days(db.session, links, DAYS, pages.zone()) if links else {}
    return {
        id_: SmallLine(sum(counts), figures.points(counts, WIDTH, HEIGHT)) for id_, counts in found.items()
    }
