"""Reads the changes of links and domains that were made since this process last read them."""

from __future__ import annotations

import time
from typing import NamedTuple

from sqlalchemy import bindparam, func, select

from app.links.models import PlanChange
from app.redirects.reader import Statement, Store

# so long after taking its number a transaction may still commit, and its row must not be missed
LATE_SECONDS = 60

NEW = (
    select(PlanChange.id, PlanChange.domain_id, PlanChange.alias)
    .where(PlanChange.id > bindparam("seen"))
    .order_by(PlanChange.id)
)
ENDS = select(func.min(PlanChange.id).label("oldest"), func.max(PlanChange.id).label("newest"))


class Invalidation(NamedTuple):
    """What to drop: one alias of a domain; with `alias` None the whole domain; both None: everything."""

    domain_id: int | None
    alias: str | None


EVERYTHING = Invalidation(None, None)


class Changes:
    """Reads the new rows of `plan_change`. On SQLite their ids appear in order. On PostgreSQL an id may
    appear after a higher one, so the rows of the last minute are read again each time."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.is_ordered = store.engine.dialect.name == "sqlite"
        self.new_statement = Statement(NEW, store.engine)
        self.ends_statement = Statement(ENDS, store.engine)
        self.floor: int | None = None  # all ids up to here were seen, and none below can still appear
        self.recent: dict[int, float] = {}  # ids above the floor, and when each was first seen

    def news(self) -> list[Invalidation]:
        """The changes since the last call; the first call only finds where to begin."""
        ends = self.store.read(self.ends_statement)[0]
        if self.floor is None:
            self.floor = self.beginning(ends["newest"] or 0)
            return []
        is_behind = ends["oldest"] is not None and ends["oldest"] > self.highest() + 1
        rows = self.store.read(self.new_statement, seen=self.floor)
        fresh = [row for row in rows if row["id"] not in self.recent]
        self.note([row["id"] for row in fresh], time.monotonic())
        if is_behind:  # rows may have been pruned unseen while this process slept: drop everything
            return [EVERYTHING]
        return [Invalidation(row["domain_id"], row["alias"]) for row in fresh]

    def beginning(self, newest: int) -> int:
        """The id to begin after. Older changes do not matter: a process that starts has nothing cached."""
        return newest if self.is_ordered else max(0, newest - 1000)

    def highest(self) -> int:
        return max(self.recent, default=self.floor or 0)

    def note(self, ids: list[int], now: float) -> None:
        """Note the ids that were seen, and raise the floor above those that are old enough."""
        if self.is_ordered:
            self.floor = max(ids, default=self.floor)
            return
        self.recent.update(dict.fromkeys(ids, now))
        old = [number for number, seen in self.recent.items() if now - seen > LATE_SECONDS]
        if old:
            self.floor = max(old)
            self.recent = {number: seen for number, seen in self.recent.items() if number > self.floor}
