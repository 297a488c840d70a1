"""How often was a link opened? (The one place that says so; all that shows or compares `clicks` asks here.)

A visit is in one of two counts, and never in both: what came through the journal stands in `counter`, which
the ingesting process keeps in a package above this one (so only its table's name is known here); what was let
through while the link had a limit stands in `limit_counter`. The sum holds whenever a limit comes or goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    FromClause,
    Select,
    Table,
    bindparam,
    column,
    func,
    select,
    table,
    union_all,
)

from app.database import AnySession
from app.extensions import db
from app.links.models import LimitCounter, Link

COUNTER = table("counter", column("link_id", BigInteger), column("clicks", BigInteger), schema="clicks")
LIMIT_COUNTER = cast("Table", LimitCounter.__table__)


def of_same_link(count: FromClause) -> ColumnElement[int]:
    """Of the link in the query around it."""
    return func.coalesce(select(count.c.clicks).where(count.c.link_id == Link.id).scalar_subquery(), 0)


def joined(links: Select[Any]) -> Select[Any]:
    """For `IN_ORDER`: PostgreSQL joins two tables at once, where it would look each link up for `CLICKS`."""
    for count in COUNTS:
        links = links.outerjoin(count, count.c.link_id == Link.id)
    return links


def of_links(count: FromClause) -> Select[tuple[int, int]]:
    ids: BindParameter[Any] = bindparam("ids", expanding=True)
    return select(count.c.link_id, count.c.clicks).where(count.c.link_id.in_(ids))


COUNTS: tuple[FromClause, ...] = (COUNTER, LIMIT_COUNTER)  # a link's clicks are the sum of what these say
CLICKS = sum(map(of_same_link, COUNTS[1:]), start=of_same_link(COUNTS[0]))  # to compare with
IN_ORDER = sum((func.coalesce(count.c.clicks, 0) for count in COUNTS[1:]), func.coalesce(COUNTER.c.clicks, 0))
# made once: to make it takes longer than to run it
OF_LINKS = union_all(*map(of_links, COUNTS))


def clicks_of(ids: Sequence[int], session: AnySession = db.session) -> dict[int, int]:
    """The clicks of each of these links, 0 where there were none."""
    clicks = dict.fromkeys(ids, 0)
    for row in session.connection().execute(OF_LINKS, {"ids": list(ids)}):
        clicks[row.link_id] += row.clicks
    return clicks
