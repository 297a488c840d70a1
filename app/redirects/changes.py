"""What has changed since this process last asked?"""

from __future__ import annotations

import time
from typing import NamedTuple

from sqlalchemy import bindparam, func, select

from app.links.models import PlanChange
from app.visits.store import Statement, Store

# a transaction may commit so long after it took its number, and must not be passed over
LATE_SECONDS = 60

NEW = (
    select(PlanChange.id, PlanChange.domain_id, PlanChange.alias)
    .where(PlanChange.id > bindparam("seen"))
    .order_by(PlanChange.id)
)
ENDS = select(func.min(PlanChange.id).label("oldest"), func.max(PlanChange.id).label("newest"))


class Change(NamedTuple):
    """What to drop: one alias of a domain; with `alias` None the whole domain; both None: everything."""

    domain_id: int | None
    alias: str | None


EVERYTHING = Change(None, None)


class Changes:
    """Reads `plan_change` onwards. On SQLite numbers appear in order; on PostgreSQL a number may appear
    after a higher one did, so the last minute's rows are read again each time."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.is_ordered = store.engine.dialect.name == "sqlite"
        self.new_statement = Statement(NEW, store.engine)
        self.ends_statement = Statement(ENDS, store.engine)
        self.floor: int | None = None  # everything up to here was seen, and nothing below can still appear
        self.recent: dict[int, float] = {}  # numbers above the floor, and when each was seen first

    def news(self) -> list[Change]:
        """What changed since the last call; the first call only finds out where to begin."""
        ends = self.store.read(self.ends_statement)[0]
        if self.floor is None:
            self.floor = self.beginning(ends["newest"] or 0)
            return []
        is_behind = ends["oldest"] is not None and ends["oldest"] > self.highest() + 1
        rows = self.store.read(self.new_statement, seen=self.floor)
        fresh = [row for row in rows if row["id"] not in self.recent]
        self.note([row["id"] for row in fresh], time.monotonic())
        if is_behind:  # rows that we never saw may have been pruned: whoever slept so long knows nothing
            return [EVERYTHING]
        return [Change(row["domain_id"], row["alias"]) for row in fresh]

    def beginning(self, newest: int) -> int:
        """Where nothing older matters: a process that starts has nothing cached."""
        return newest if self.is_ordered else max(0, newest - 1000)

    def highest(self) -> int:
        return max(self.recent, default=self.floor or 0)

    def note(self, ids: list[int], now: float) -> None:
        """Remember what was seen, and raise the floor over all that is old enough."""
        if self.is_ordered:
            self.floor = max(ids, default=self.floor)
            return
        self.recent.update(dict.fromkeys(ids, now))
        old = [number for number, seen in self.recent.items() if now - seen > LATE_SECONDS]
        if old:
            self.floor = max(old)
            self.recent = {number: seen for number, seen in self.recent.items() if number > self.floor}
