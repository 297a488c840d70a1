"""Makes the bitmaps of long lists of links: a thread of the worker, so that no change of a link waits."""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from app.analytics.models import Position
from app.core.error_boundary import ErrorBoundary
from app.core.poll_loop import PollLoop
from app.links.bitmaps import clicks, ranges, upkeep
from app.links.models import LimitCounter

POLL_SECONDS = 2.0
LOOK_SECONDS = 60.0  # between two looks for lists that have become long
ROUND_SECONDS = 30.0  # between two rounds through the clicks of a list
CLICKS_SECONDS = 0.1  # of such a round in one turn, so that it has a twentieth of a core
BOUNDS_SECONDS = 600.0  # between two looks at the ranges of a list: new ones have all its blocks counted
RETRY_SECONDS = 30.0
WAIT_SECONDS = (
    10.0  # of few blocks, in which links change all the time: making these is work beside the changes
)
FEW_BLOCKS = 8  # a page reads their links in some 10 ms


class ClicksRounds:
    """Round after round through the clicks of one workspace, in short pieces of work."""

    def __init__(self, begin: Callable[[], Iterator[None]]) -> None:
        self.begin = begin
        self.steps: Iterator[None] | None = None
        self.due = 0.0
        self.counted: object = None  # before the last whole round began
        self.counted_now: object = None

    def go_on(self, count: Callable[[], object], seconds: float) -> None:
        """Works on the round for some time, or begins one if visits were counted since the last. The value of
        `count` tells."""
        now = time.monotonic()
        steps, self.steps = self.steps, None  # one that fails is begun anew
        if steps is None:
            if now < self.due:
                return
            self.due, self.counted_now = now + ROUND_SECONDS, count()
            if self.counted_now == self.counted:
                return
            steps = self.begin()
        for _ in steps:
            if time.monotonic() > now + seconds:
                self.steps = steps
                return
        self.counted, self.due = self.counted_now, now + ROUND_SECONDS


class BitmapMaker(PollLoop):
    """Makes bitmaps anew where links have changed, and slices where links were clicked."""

    def __init__(self, engine: Engine) -> None:
        super().__init__("bitmaps", POLL_SECONDS, ErrorBoundary("bitmap loop", max_outages=inf))
        self.engine = engine
        self.errors = ErrorBoundary("bitmaps", first_seconds=RETRY_SECONDS, max_outages=inf)
        self.workspaces: Sequence[int] = ()
        self.look_due = 0.0
        self.complete: set[int] = set()  # of these all blocks have bitmaps, or a mark
        self.rounds: dict[int, ClicksRounds] = {}
        self.bounds_due: dict[int, float] = {}
        self.blocks_due: dict[int, float] = {}

    def turn(self) -> None:
        with Session(self.engine) as session:
            self.look(session)
            for workspace_id in self.workspaces:
                self.errors.run(workspace_id, self.make_stale, session, workspace_id)
                rounds = self.rounds.setdefault(
                    workspace_id, ClicksRounds(partial(self.clicks_round, workspace_id))
                )
                count = partial(counted_visits, session)
                self.errors.run((workspace_id, "clicks"), rounds.go_on, count, CLICKS_SECONDS)

    def clicks_round(self, workspace_id: int) -> Iterator[None]:
        with Session(self.engine) as session:
            yield from clicks.renew_clicks(session, workspace_id)

    def look(self, session: Session) -> None:
        """Finds the long lists, and forgets those that are no longer."""
        now = time.monotonic()
        if now < self.look_due:
            return
        self.workspaces = upkeep.long_lists(session)
        upkeep.forget_others(session, self.workspaces)
        self.complete &= set(self.workspaces)
        self.rounds = {id_: found for id_, found in self.rounds.items() if id_ in self.workspaces}
        for due in (self.bounds_due, self.blocks_due):
            for gone in due.keys() - self.workspaces:
                del due[gone]
        self.look_due = now + LOOK_SECONDS

    def make_stale(self, session: Session, workspace_id: int) -> None:
        """Makes the bitmaps of all blocks that need it, resting as long as it works."""
        blocks = dict.fromkeys(upkeep.stale_blocks(session, workspace_id))
        if self.may_wait(workspace_id, len(blocks)):
            session.rollback()
            return
        self.see_to_bounds(session, workspace_id)
        if workspace_id not in self.complete:
            for find in (upkeep.missing_blocks, ranges.uncounted_blocks):
                blocks |= dict.fromkeys(find(session, workspace_id))
        session.rollback()
        numbers = list(blocks)
        for start in range(0, len(numbers), upkeep.BLOCKS_AT_ONCE):
            began = time.monotonic()
            some = numbers[start : start + upkeep.BLOCKS_AT_ONCE]
            if self.ended.is_set() or not upkeep.make_bitmaps(session, workspace_id, some):
                return  # or another machine does
            self.ended.wait(time.monotonic() - began)
        self.complete.add(workspace_id)
        self.blocks_due[workspace_id] = time.monotonic() + WAIT_SECONDS

    def may_wait(self, workspace_id: int, stale: int) -> bool:
        """Whether the last blocks were made just now, and few have changed since."""
        is_due = time.monotonic() >= self.blocks_due.get(workspace_id, 0.0)
        return workspace_id in self.complete and stale <= FEW_BLOCKS and not is_due

    def see_to_bounds(self, session: Session, workspace_id: int) -> None:
        """Looks now and then whether the ranges of the list's orders are still even. New ones are counted."""
        now = time.monotonic()
        if now >= self.bounds_due.get(workspace_id, 0.0):
            self.bounds_due[workspace_id] = now + BOUNDS_SECONDS
            if ranges.set_bounds(session, workspace_id):
                self.complete.discard(workspace_id)


def counted_visits(session: Session) -> object:
    """A value that changes when visits are counted."""
    offsets = session.execute(select(func.count(), func.sum(Position.counters_offset))).one()
    limited = session.scalar(select(func.sum(LimitCounter.clicks)))
    session.rollback()
    return tuple(offsets), limited
