"""What do the rows of single visits say, counted one by one?

A visitor counts once for a UTC day among the rows that are asked for (and, where links are, among each
link's), at the moment of the first visit: so days add up in every time zone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Select, Table, and_, case, false, func, select

from app.clicks.dimensions import DIMENSIONS
from app.clicks.models import Click, Term
from app.clicks.periods import DAY_MS, QUARTER_MS
from app.clicks.terms import digest
from app.database import AnySession
from app.visits.devices import device

CLICKS = cast("Table", Click.__table__)
TERMS = cast("Table", Term.__table__)
AT_ONCE = 10_000

Filters = Mapping[str, str | None]
Key = tuple[int | None, ...]


class Count(NamedTuple):
    pageviews: int
    visitors: int


@dataclass(frozen=True)
class Scope:
    """Whose visits: all of an owner's, or those of some of his links. People's, or else bots'."""

    user_id: int
    link_ids: tuple[int, ...] | None = None
    is_bot: bool = False
    filters: Filters = field(default_factory=dict)

    @property
    def parts(self) -> Iterator[Scope]:
        """The same in parts that one statement takes."""
        if self.link_ids is None:
            yield self
            return
        ids = sorted(set(self.link_ids))
        for start in range(0, len(ids), AT_ONCE):
            yield Scope(self.user_id, tuple(ids[start : start + AT_ONCE]), self.is_bot, self.filters)


def by_quarter(session: AnySession, scope: Scope, first: int, last: int) -> dict[int, Count]:
    """Visits in each quarter of an hour from `first` up to, and without, `last`."""
    pageviews: Counter[int] = Counter()
    visitors: Counter[int] = Counter()
    for part in scope.parts:
        wanted = conditions(session, part, first, last)
        quarter = (CLICKS.c.time_ms // QUARTER_MS).label("quarter")
        inside = CLICKS.c.time_ms >= first * QUARTER_MS
        counted = select(quarter, func.count().label("count")).where(*wanted, inside).group_by(quarter)
        pageviews.update({row.quarter: row[1] for row in session.execute(counted)})
        visitors.update({row.quarter: row[1] for row in session.execute(arrivals(part, wanted, first))})
    return {number: Count(pageviews[number], visitors[number]) for number in sorted(pageviews)}


def arrivals(scope: Scope, wanted: Sequence[ColumnElement[bool]], first: int) -> Select[Any]:
    """How many visitors came for the first time on their day, by quarter of an hour."""
    firsts = visitors_of(scope, wanted, (), first).where(CLICKS.c.visitor.is_not(None)).subquery()
    quarter = (firsts.c.first // QUARTER_MS).label("quarter")
    return select(quarter, func.count()).where(firsts.c.first >= first * QUARTER_MS).group_by(quarter)


def by_value(session: AnySession, scope: Scope, name: str, first: int, last: int) -> dict[str | None, Count]:
    """Visits of each value of a dimension between two quarters of an hour."""
    found: dict[Key, Count] = {}
    columns = DIMENSIONS[name].columns
    for part in scope.parts:
        for row in session.execute(values(session, part, columns, first, last)):
            add(found, tuple(row[:-2]), Count(*row[-2:]))
    return in_words(session, name, found)


def values(session: AnySession, scope: Scope, columns: Sequence[str], first: int, last: int) -> Select[Any]:
    each = visitors_of(scope, conditions(session, scope, first, last), columns, first).subquery()
    keys = [each.c[name] for name in columns]
    is_new = and_(each.c.visitor.is_not(None), each.c.first >= first * QUARTER_MS)
    visitors = func.sum(case((is_new, 1), else_=0))
    found = select(*keys, func.sum(each.c.visits).label("pageviews"), visitors.label("visitors"))
    return found.where(each.c.visits > 0).group_by(*keys)


def visitors_of(
    scope: Scope, wanted: Sequence[ColumnElement[bool]], columns: Sequence[str], first: int
) -> Select[Any]:
    """A row for each visitor of a UTC day: when he came first, and how often within the period."""
    day = (CLICKS.c.time_ms // DAY_MS).label("day")
    apart = [CLICKS.c[name] for name in columns]
    groups = [day, *apart, CLICKS.c.visitor, *([] if scope.link_ids is None else [CLICKS.c.link_id])]
    visits = func.sum(case((CLICKS.c.time_ms >= first * QUARTER_MS, 1), else_=0)).label("visits")
    came = func.min(CLICKS.c.time_ms).label("first")
    return select(*apart, CLICKS.c.visitor, came, visits).where(*wanted).group_by(*groups)


def conditions(session: AnySession, scope: Scope, first: int, last: int) -> list[ColumnElement[bool]]:
    """The rows that are asked for, from the beginning of the UTC day on that the period begins in."""
    day_begin = first * QUARTER_MS // DAY_MS * DAY_MS
    found = [CLICKS.c.user_id == scope.user_id, CLICKS.c.is_bot.is_(scope.is_bot)]
    found += [CLICKS.c.time_ms >= day_begin, CLICKS.c.time_ms < last * QUARTER_MS]
    if scope.link_ids is not None:
        found.append(CLICKS.c.link_id.in_(scope.link_ids))
    within = [*found]
    for name, value in scope.filters.items():
        found.append(filtered(session, name, value, within))
    return found


def filtered(
    session: AnySession, name: str, value: str | None, within: Sequence[ColumnElement[bool]]
) -> ColumnElement[bool]:
    """Whether a row has this value of a dimension."""
    dimension = DIMENSIONS[name]
    if dimension.of_agent:
        return with_agent(session, dimension.of_agent, value, within)
    column = CLICKS.c[dimension.columns[0]]
    if value is None:
        return column.is_(None)
    texts = [value] if len(dimension.columns) == 1 else [*split_path(value)]
    ids = [session.scalar(select(TERMS.c.id).where(TERMS.c.digest == digest(text))) for text in texts]
    if None in ids:
        return false()
    return and_(*(CLICKS.c[name] == id_ for name, id_ in zip(dimension.columns, ids, strict=True)))


def with_agent(
    session: AnySession, name: str, value: str | None, within: Sequence[ColumnElement[bool]]
) -> ColumnElement[bool]:
    agents = session.scalars(select(CLICKS.c.agent_id).where(*within).distinct()).all()
    texts = texts_of(session, agents)
    same = [id_ for id_ in agents if (getattr(device(texts.get(id_, "")), name) or None) == value]
    is_unknown = CLICKS.c.agent_id.is_(None) if value is None else false()
    return CLICKS.c.agent_id.in_([id_ for id_ in same if id_ is not None]) | is_unknown


def in_words(session: AnySession, name: str, found: Mapping[Key, Count]) -> dict[str | None, Count]:
    """The same by the words that the numbers stand for."""
    texts = texts_of(session, {id_ for key in found for id_ in key})
    named: dict[str | None, Count] = {}
    for key, count in found.items():
        text: str | None = "".join(texts.get(id_, "") for id_ in key)
        if DIMENSIONS[name].of_agent:
            text = getattr(device(text or ""), DIMENSIONS[name].of_agent)
        add(named, text or None, count)
    return named


def texts_of(session: AnySession, ids: Iterable[int | None]) -> dict[int | None, str]:
    wanted = sorted({id_ for id_ in ids if id_ is not None})
    found: dict[int | None, str] = {}
    for start in range(0, len(wanted), AT_ONCE):
        some = TERMS.c.id.in_(wanted[start : start + AT_ONCE])
        found.update({row.id: row.value for row in session.execute(select(TERMS).where(some))})
    return found


def split_path(value: str) -> tuple[str, str]:
    """`news.example/story` is a host and a path there."""
    host, slash, rest = value.partition("/")
    return host, slash + rest


def add(found: dict[Any, Count], key: Any, count: Count) -> None:
    before = found.get(key, Count(0, 0))
    found[key] = Count(before.pageviews + int(count.pageviews), before.visitors + int(count.visitors))


def of_links(
    session: AnySession, links: Sequence[int], first: int, last: int
) -> Iterator[tuple[int, int, int]]:
    """People's visits of each link in each quarter of an hour, where there were any."""
    quarter = (CLICKS.c.time_ms // QUARTER_MS).label("quarter")
    wanted: list[ColumnElement[bool]] = [CLICKS.c.link_id.in_(links), CLICKS.c.is_bot.is_(False)]
    wanted += [CLICKS.c.time_ms >= first * QUARTER_MS, CLICKS.c.time_ms < last * QUARTER_MS]
    counted = select(CLICKS.c.link_id, quarter, func.count()).where(*wanted)
    for row in session.execute(counted.group_by(CLICKS.c.link_id, quarter)):
        yield row[0], row[1], row[2]
