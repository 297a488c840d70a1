"""Reads the changes of links and domains that were made since this process last read them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import ARRAY, BigInteger, bindparam, func, select

from app.links.models import PlanChange
from app.redirects.reader import DirectReader, Row, Statement

# so long after taking its number a transaction may still commit, and its row must not be missed
LATE_SECONDS = 60
MAX_GAPS = 1000

NEW = (
    select(PlanChange.id, PlanChange.domain_id, PlanChange.alias)
    .where(PlanChange.id > bindparam("seen"))
    .order_by(PlanChange.id)
)
# on PostgreSQL: the rows within some ranges of ids
RANGES = (
    func.unnest(bindparam("lows", type_=ARRAY(BigInteger)), bindparam("highs", type_=ARRAY(BigInteger)))
    .table_valued("low", "high")
    .render_derived()
)
LATE = (
    select(PlanChange.id, PlanChange.domain_id, PlanChange.alias)
    .join(RANGES, PlanChange.id.between(RANGES.c.low, RANGES.c.high))
    .order_by(PlanChange.id)
)
ENDS = select(func.min(PlanChange.id).label("oldest"), func.max(PlanChange.id).label("newest"))


class Invalidation(NamedTuple):
    """What to drop: one alias of a domain; with `alias` None the whole domain; both None: everything."""

    domain_id: int | None
    alias: str | None


EVERYTHING = Invalidation(None, None)


class Gap(NamedTuple):
    """A range of ids of which no row was seen, although a higher id was, at `since` (monotonic seconds)."""

    low: int
    high: int
    since: float


class Changes:
    """Reads the new rows of `plan_change`. On SQLite their ids appear in order. On PostgreSQL an id may
    appear after a higher one, so those that were skipped are looked for again, for a minute."""

    def __init__(self, reader: DirectReader) -> None:
        self.reader = reader
        self.is_ordered = reader.engine.dialect.name == "sqlite"
        self.new_statement = Statement(NEW, reader.engine.dialect)
        self.ends_statement = Statement(ENDS, reader.engine.dialect)
        self.late_statement = None if self.is_ordered else Statement(LATE, reader.engine.dialect)
        self.highest: int | None = None  # the highest id that was seen; None before the first call
        self.gaps: list[Gap] = []

    def news(self) -> list[Invalidation]:
        """The changes since the last call; the first call only finds where to begin."""
        ends = self.reader.read(self.ends_statement)[0]
        if self.highest is None:
            self.highest = self.beginning(ends["newest"] or 0)
            return []
        is_behind = ends["oldest"] is not None and ends["oldest"] > self.highest + 1
        rows = self.late_rows() + self.reader.read(self.new_statement, seen=self.highest)
        self.note([row["id"] for row in rows], time.monotonic())
        if is_behind:  # rows may have been pruned unseen while this process slept: drop everything
            return [EVERYTHING]
        return [Invalidation(row["domain_id"], row["alias"]) for row in rows]

    def beginning(self, newest: int) -> int:
        """The id to begin after. Older changes do not matter: a process that starts has nothing cached."""
        return newest if self.is_ordered else max(0, newest - 1000)

    def late_rows(self) -> list[Row]:
        """The rows that have appeared in gaps."""
        if self.late_statement is None or not self.gaps:
            return []
        lows, highs = [gap.low for gap in self.gaps], [gap.high for gap in self.gaps]
        return self.reader.read(self.late_statement, lows=lows, highs=highs)

    def note(self, ids: Sequence[int], now: float) -> None:
        """Note the ids that were seen, in their order, and give up gaps that are old enough."""
        highest = self.highest or 0
        new = [number for number in ids if number > highest]
        if self.is_ordered:
            self.highest = max(new, default=highest)
            return
        late = sorted(set(ids).difference(new))
        young = [gap for gap in self.gaps if now - gap.since <= LATE_SECONDS]
        self.gaps = [rest for gap in young for rest in without(gap, late)]
        for number in new:
            if number > highest + 1:
                self.gaps.append(Gap(highest + 1, number - 1, now))
            highest = number
        self.highest = highest
        if len(self.gaps) > MAX_GAPS:  # one gap of them all: what was seen between them is read once more
            lows, highs = [gap.low for gap in self.gaps], [gap.high for gap in self.gaps]
            self.gaps = [Gap(min(lows), max(highs), now)]


def without(gap: Gap, ids: Sequence[int]) -> Iterator[Gap]:
    """What is left of a gap when these ids are taken out of it, which are in order."""
    low = gap.low
    for number in ids:
        if low <= number <= gap.high:
            if low < number:
                yield gap._replace(low=low, high=number - 1)
            low = number + 1
    if low <= gap.high:
        yield gap._replace(low=low)
