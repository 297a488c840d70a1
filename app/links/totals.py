"""Number of links, and sum of their clicks, of projects or domains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import InstrumentedAttribute

from app.core.extensions import db
from app.links.clicks import COUNTER, LIMIT_COUNTER
from app.links.models import Link


class LinkTotals(NamedTuple):
    links: int = 0
    clicks: int = 0


def totals_by(column: InstrumentedAttribute[int | None], ids: Sequence[int]) -> dict[int, LinkTotals]:
    """The totals of each of these projects or domains, by `Link.project_id` or `Link.domain_id`."""
    clicks = func.coalesce(COUNTER.c.clicks, 0) + func.coalesce(LIMIT_COUNTER.c.clicks, 0)
    counted = (
        select(column, func.count(), func.sum(clicks))
        .outerjoin(COUNTER, COUNTER.c.link_id == Link.id)
        .outerjoin(LIMIT_COUNTER, LIMIT_COUNTER.c.link_id == Link.id)
        .where(column.in_(ids))
        .group_by(column)
    )
    found = {id_: LinkTotals(links, int(sum_)) for id_, links, sum_ in db.session.execute(counted)}
    return {id_: found.get(id_, LinkTotals()) for id_ in ids}
