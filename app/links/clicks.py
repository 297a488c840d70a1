"""The number of clicks of links. All code that shows or compares `clicks` takes it from here.

A visit is in one of two counts, and never in both. Visits that came through the journal are in `counter`. The
ingesting process keeps that table in a package above this one, so only its name is known here. Visits that
were let through while the link had a limit are in `limit_counter`. The sum stays right when a limit is set or
removed.
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
    Subquery,
    Table,
    bindparam,
    column,
    exists,
    func,
    select,
    table,
    union_all,
)

from app.core.database import AnySession
from app.core.extensions import db
from app.links.models import LimitCounter, Link

COUNTER = table("counter", column("link_id", BigInteger), column("clicks", BigInteger), schema="clicks")
LIMIT_COUNTER = cast("Table", LimitCounter.__table__)


def of_same_link(count: FromClause) -> ColumnElement[int]:
    """The count as a scalar subquery, of the link in the enclosing query (which may have joined counts)."""
    mine = select(count.c.clicks).where(count.c.link_id == Link.id).correlate(Link)
    return func.coalesce(mine.scalar_subquery(), 0)


def joined(links: Select[Any]) -> Select[Any]:
    """Join the counts, for `IN_ORDER`: PostgreSQL joins whole tables, but looks up each link for `CLICKS`."""
    for count in COUNTS:
        links = links.outerjoin(count, count.c.link_id == Link.id)
    return links


def clicked_links(workspace_id: int) -> Subquery:
    """The `id` and the clicks (`value`) of the workspace's links that have any. Begins with the counts, and
    looks up each in the index of the list: it is for lists of which few links were clicked."""
    clicks = COUNTER.c.clicks + func.coalesce(LIMIT_COUNTER.c.clicks, 0)
    is_same = LIMIT_COUNTER.c.link_id == COUNTER.c.link_id
    counts = union_all(
        select(COUNTER.c.link_id, clicks.label("clicks")).outerjoin(LIMIT_COUNTER, is_same),
        select(LIMIT_COUNTER.c.link_id, LIMIT_COUNTER.c.clicks).where(
            ~exists(select(COUNTER.c.link_id).where(is_same))
        ),
    ).subquery()
    is_of_workspace = (
        select(Link.id)
        .where(Link.id == counts.c.link_id, Link.workspace_id == workspace_id)
        .with_hint(Link, "INDEXED BY ix_link_filtered", "sqlite")
    )
    return (
        select(counts.c.link_id.label("id"), counts.c.clicks.label("value"))
        .where(counts.c.clicks > 0, exists(is_of_workspace))
        .subquery()
    )


def of_links(count: FromClause) -> Select[tuple[int, int]]:
    ids: BindParameter[Any] = bindparam("ids", expanding=True)
    return select(count.c.link_id, count.c.clicks).where(count.c.link_id.in_(ids))


def of_range(count: FromClause) -> Select[tuple[int, int]]:
    first, last = (bindparam(name, type_=BigInteger) for name in ("first_id", "last_id"))
    return select(count.c.link_id, count.c.clicks).where(count.c.link_id.between(first, last))


COUNTS: tuple[FromClause, ...] = (COUNTER, LIMIT_COUNTER)  # a link's clicks are the sum of these
CLICKS = sum(map(of_same_link, COUNTS[1:]), start=of_same_link(COUNTS[0]))  # to compare with
IN_ORDER = sum((func.coalesce(count.c.clicks, 0) for count in COUNTS[1:]), func.coalesce(COUNTER.c.clicks, 0))
# built once: building them takes longer than running them
OF_RANGE = union_all(*map(of_range, COUNTS))  # the counts of the links `first_id` to `last_id`
OF_LINKS = union_all(*map(of_links, COUNTS))


def clicks_of(ids: Sequence[int], session: AnySession = db.session) -> dict[int, int]:
    """The clicks of each of these links, 0 if there were none."""
    clicks = dict.fromkeys(ids, 0)
    for row in session.connection().execute(OF_LINKS, {"ids": list(ids)}):
        clicks[row.link_id] += row.clicks
    return clicks
