"""How often was a link opened? (The one place that says so; all that shows or compares `clicks` asks here.)

A visit is in one of two counts, and never in both: what came through the journal stands in `counter`, which
the ingesting process keeps in a package above this one (so only its table's name is known here); what was let
through while the link had a limit stands in `limit_counter`. The sum holds whenever a limit comes or goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlalchemy import Table, column, func, select, table

from app.extensions import db
from app.links.models import Link, LimitCounter

COUNTER = table("counter", column("link_id"), column("clicks"), schema="clicks")
LIMIT_COUNTER = cast("Table", LimitCounter.__table__)
COUNTS = (COUNTER, LIMIT_COUNTER)

# of the link in the same query, to order by
CLICKS = sum(
    func.coalesce(select(count.c.clicks).where(count.c.link_id == Link.id).scalar_subquery(), 0)
    for count in COUNTS
)


def clicks_of(ids: Sequence[int]) -> dict[int, int]:
    """The clicks of each of these links, 0 where there were none."""
    clicks = dict.fromkeys(ids, 0)
    for count in COUNTS:
        for link_id, number in db.session.execute(select(count.c.link_id, count.c.clicks).where(count.c.link_id.in_(ids))):
            clicks[link_id] += number
    return clicks
