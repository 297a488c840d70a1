"""Pauses before the answers of requests that are refused in a flood.

Each of a few hundred connections that sends its next request as soon as the last one is refused keeps the
processor busy, however cheap a refusal is. Paused, next to nothing is read or computed for it: the
flood waits, and redirects don't (docs/decisions/2026-11-23-refusals-that-wait.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

PAUSE_SECONDS = 4.0
# so many answers wait at once; the next one does not
MAX_WAITING = 512


class Pauses:
    """Answers of one process that wait. They are given on its event loop, and must neither wait nor raise."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting: dict[asyncio.TimerHandle, Callable[[], None]] = {}
        self.is_over = False

    def answer_later(self, answer: Callable[[], None]) -> None:
        """Give the answer after a pause. Called from any thread."""
        self.loop.call_soon_threadsafe(self.wait, answer)

    def wait(self, answer: Callable[[], None]) -> None:
        if self.is_over or len(self.waiting) >= MAX_WAITING:
            answer()
            return

        def end() -> None:
            del self.waiting[timer]
            answer()

        timer = self.loop.call_later(PAUSE_SECONDS, end)
        self.waiting[timer] = answer

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
        for timer, answer in self.waiting.items():
            timer.cancel()
            answer()
        self.waiting.clear()
