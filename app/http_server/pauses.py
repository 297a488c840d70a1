"""Pauses before the answers of requests that are refused in a flood.

Each of a few hundred connections that sends its next request as soon as the last one is refused keeps the
processor busy, however cheap a refusal is. Paused, next to nothing is read or computed for it: the
flood waits, and redirects don't (docs/decisions/2026-11-23-refusals-that-wait.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

PAUSE_SECONDS = 4.0
# between two answers. Connections that were refused together come again together, and two hundred refusals in
# one go hold up redirects for a tenth of a second
STEP_SECONDS = 0.01
# so many answers wait at once; the next one does not
MAX_WAITING = 512

log = logging.getLogger(__name__)


class PausedAnswer(NamedTuple):
    """`due`: the earliest time of the answer, by the event loop's clock."""

    due: float
    give: Callable[[], None]


class Pauses:
    """Answers of one process that wait. They are given on its event loop, and must neither wait nor raise."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting: deque[PausedAnswer] = deque()
        self.timer: asyncio.TimerHandle | None = None
        self.is_over = False

    def answer_later(self, answer: Callable[[], None]) -> None:
        """Give the answer after a pause. Called from any thread."""
        self.loop.call_soon_threadsafe(self.wait, answer)

    def wait(self, answer: Callable[[], None]) -> None:
        if self.is_over or len(self.waiting) >= MAX_WAITING:
            answer()
            return
        paused = PausedAnswer(self.loop.time() + PAUSE_SECONDS, answer)
        self.waiting.append(paused)
        if self.timer is None:
            self.timer = self.loop.call_at(paused.due, self.give_next)

    def give_next(self) -> None:
        paused, self.timer = self.waiting.popleft(), None
        if self.waiting:  # first: whatever becomes of this answer, the next one comes
            soon = self.loop.time() + STEP_SECONDS
            self.timer = self.loop.call_at(max(self.waiting[0].due, soon), self.give_next)
        paused.give()

    async def spend(self, work: Coroutine[Any, Any, None]) -> None:
        """Let a pause go by, and do some work meanwhile. Work that is not done at its end is cancelled."""
        is_over = asyncio.Event()
        self.wait(is_over.set)
        task = self.loop.create_task(work)
        await is_over.wait()
        task.cancel()
        await asyncio.wait([task])

    def end(self) -> None:
        """Give all answers now, because the process ends. Later ones don't wait."""
        self.is_over = True
        if self.timer is not None:
            self.timer.cancel()
        waiting, self.waiting = self.waiting, deque()
        for paused in waiting:
            try:
                paused.give()
            except Exception:  # one that fails ends no other
                log.exception("an answer that waited failed")
