"""State of each of an owner's days: rows of single clicks, roll-ups, or both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from sqlalchemy import Table, exists, func, or_, select

from app.analytics.models import Click, Counter
from app.analytics.periods import QUARTERS
from app.analytics.rollup_models import OwnerDay
from app.analytics.scope import BATCH_SIZE, Bind

DAYS = cast("Table", OwnerDay.__table__)
# clicks of a period that a filter looks through one by one. Beyond that, whole days come from roll-ups: the
# sums stay exact, and the days are those of UTC
MOST_FILTERED = 50_000


class Day(NamedTuple):
    """`visits`: how many rows of single clicks exist; `rolled`: how many of these the roll-ups include."""

    day: int
    visits: int
    rolled: int | None
    is_pruned: bool


class Stretch(NamedTuple):
    """A half-open range of quarters of an hour: `first` is included, `last` is not."""

    first: int
    last: int


def days_of(bind: Bind, workspace_id: int, first: int, last: int) -> list[Day]:
    """The owner's UTC days with clicks that these quarters of an hour lie on."""
    wanted = select(DAYS.c.day, DAYS.c.visits, DAYS.c.rolled, DAYS.c.is_pruned).where(
        DAYS.c.workspace_id == workspace_id,
        DAYS.c.day >= first // QUARTERS,
        DAYS.c.day <= (last - 1) // QUARTERS,
    )
    return [Day(*row) for row in bind.execute(wanted.order_by(DAYS.c.day))]


def first_day(bind: Bind, workspace_id: int) -> int | None:
    """The first of the owner's days with clicks."""
    found: int | None = bind.scalar(select(func.min(DAYS.c.day)).where(DAYS.c.workspace_id == workspace_id))
    return found


def has_visits(bind: Bind, link_ids: Sequence[int]) -> bool:
    """Whether any of the links has a click, a bot's included, as far as that is still known."""
    parts = [link_ids[start : start + BATCH_SIZE] for start in range(0, len(link_ids), BATCH_SIZE)]
    return any(are_visited(bind, some) for some in parts)


def are_visited(bind: Bind, some: Sequence[int]) -> bool:
    counted = exists().where(Counter.link_id.in_(some), Counter.clicks > 0)
    found: bool = bind.scalar(select(or_(counted, exists().where(Click.link_id.in_(some))))) or False
    return found


def last_pruned(bind: Bind, workspace_id: int, first: int, last: int) -> int | None:
    """The last of these days whose rows of single clicks are removed."""
    pruned = select(func.max(DAYS.c.day)).where(
        DAYS.c.workspace_id == workspace_id,
        DAYS.c.is_pruned,
        DAYS.c.day >= first // QUARTERS,
        DAYS.c.day <= (last - 1) // QUARTERS,
    )
    found: int | None = bind.scalar(pruned)
    return found


def is_whole(day: int, first: int, last: int) -> bool:
    return first <= day * QUARTERS and (day + 1) * QUARTERS <= last


def is_mostly(day: int, first: int, last: int) -> bool:
    """Whether a UTC day's noon is within: that decides for a day that can't be divided any more."""
    return first <= noon(day) < last


def noon(day: int) -> int:
    """The quarter of an hour at a UTC day's noon."""
    return day * QUARTERS + QUARTERS // 2


def merge_days(days: Iterable[int], first: int, last: int) -> Iterator[Stretch]:
    """The days merged into as few stretches as possible, clipped to `first` and `last`."""
    begin = end = None
    for day in sorted(days):
        if day != end:
            if begin is not None and end is not None:
                yield clip_stretch(begin, end, first, last)
            begin = day
        end = day + 1
    if begin is not None and end is not None:
        yield clip_stretch(begin, end, first, last)


def clip_stretch(begin: int, end: int, first: int, last: int) -> Stretch:
    return Stretch(max(begin * QUARTERS, first), min(end * QUARTERS, last))
