"""The number of clicks of links. All code that shows or compares `clicks` takes it from here.

A visit is in one of two counts, and never in both. Visits that came through the journal are in `counter`. The
ingesting process keeps that table in a package above this one, so only its name is known here. Visits that
were let through while the link had a limit are in `limit_counter`. The sum stays right when a limit is set or
removed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Engine,
    FromClause,
    Select,
    Table,
    bindparam,
    column,
    func,
    literal,
    select,
    table,
    union_all,
    update,
)
from sqlalchemy.orm import Session

from app.core.database import AnySession, begin_write
from app.core.extensions import db
from app.links.models import LimitCounter, Link, link_clicks

COUNTER = table("counter", column("link_id", BigInteger), column("clicks", BigInteger), schema="clicks")
LIMIT_COUNTER = cast("Table", LimitCounter.__table__)


def of_same_link(count: FromClause) -> ColumnElement[int]:
    """The count as a scalar subquery, of the link in the enclosing query (which may have joined counts)."""
    mine = select(count.c.clicks).where(count.c.link_id == Link.id).correlate(Link)
    return func.coalesce(mine.scalar_subquery(), 0)


def of_links(count: FromClause) -> Select[tuple[int, int]]:
    ids: BindParameter[Any] = bindparam("ids", expanding=True)
    return select(count.c.link_id, count.c.clicks).where(count.c.link_id.in_(ids))


COUNTS: tuple[FromClause, ...] = (COUNTER, LIMIT_COUNTER)  # a link's clicks are the sum of these
CLICKS = sum(map(of_same_link, COUNTS[1:]), start=of_same_link(COUNTS[0]))  # to compare with
# built once: building it takes longer than running it
OF_LINKS = union_all(*map(of_links, COUNTS))


def clicks_of(ids: Sequence[int], session: AnySession = db.session) -> dict[int, int]:
    """The clicks of each of these links, 0 if there were none."""
    clicks = dict.fromkeys(ids, 0)
    for row in session.connection().execute(OF_LINKS, {"ids": list(ids)}):
        clicks[row.link_id] += row.clicks
    return clicks


# clicks only become more, so a copy that was overtaken by a later one changes nothing
COPIED: ColumnElement[int] = sum(
    (
        func.coalesce(
            select(count.c.clicks).where(count.c.link_id == link_clicks.c.link_id).scalar_subquery(), 0
        )
        for count in COUNTS
    ),
    start=literal(0),
)
COPY = update(link_clicks).where(link_clicks.c.clicks < COPIED).values(clicks=COPIED)
COPY_SOME = COPY.where(link_clicks.c.link_id.in_(bindparam("ids", expanding=True)))
FIRST, LAST = (bindparam(name, type_=BigInteger) for name in ("first", "last"))
COPY_RANGE = COPY.where(link_clicks.c.link_id.between(FIRST, LAST))
MAX_COPIED = 2000  # links in a transaction, each some 10 µs: others must be able to write in between
LOOKED_AT = 10_000  # links in the same, of which few are late
MAX_LATE = 100_000  # ids that are kept in memory; of more, all links are looked at


def copy_clicks(session: AnySession, ids: Sequence[int]) -> None:
    """Copies the clicks of these links to where lists order by them. Does not commit."""
    session.connection().execute(COPY_SOME, {"ids": list(ids)})


class ClickCopies:
    """Copies the clicks of links from the counters to where lists order by them, a moment later.

    On SQLite these are two files, which no transaction spans. A killed process, or a backup of another
    moment, leaves some copies late, so all are looked at in the beginning.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.late: set[int] = set()
        self.looked: int | None = 0  # all links are looked at, up to this id by now; None: none need be

    def add(self, ids: Collection[int]) -> None:
        """Notes that these links were clicked."""
        if len(self.late) + len(ids) > MAX_LATE:
            self.late.clear()
            self.looked = 0
        else:
            self.late.update(ids)

    def step(self) -> bool:
        """Copies some, and returns whether more are late."""
        some = sorted(self.late)[:MAX_COPIED]
        if not some and self.looked is None:
            return False
        with Session(self.engine) as session:
            begin_write(session)
            copy_clicks(session, some)
            self.looked = self.look(session, self.looked)
            session.commit()
        self.late.difference_update(some)
        return bool(self.late) or self.looked is not None

    def look(self, session: Session, after: int | None) -> int | None:
        """Copies what is late of the next links. Returns the last one's id; None after the last of all."""
        if after is None:
            return None
        id_ = link_clicks.c.link_id
        some = select(id_).where(id_ > after).order_by(id_).limit(LOOKED_AT).subquery()
        last: int | None = session.scalar(select(func.max(some.c.link_id)))
        if last is not None:
            session.connection().execute(COPY_RANGE, {"first": after + 1, "last": last})
        return last
