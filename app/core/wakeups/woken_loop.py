"""A poll loop whose rests are ended by wake-ups of one topic."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from app.core.poll_loop import PollLoop
from app.core.wakeups.listener import Listener, start_listener


class WokenLoop(PollLoop):
    """Hears its `topic` while it runs. A subclass says in `rest` for how long it waits at most."""

    topic: ClassVar[str]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.woken = threading.Event()
        self.listener: Listener | None = None

    @property
    def hears(self) -> bool:
        """Whether wake-ups are known to arrive."""
        return self.listener is not None and self.listener.is_live

    def run(self) -> None:
        self.listener = start_listener({self.topic: self.woken.set})
        super().run()

    def rest(self, seconds: float) -> None:
        self.woken.wait(seconds)
        self.woken.clear()  # before the turn: what wakes it from here on is read by the next one

    def stop(self, seconds: float | None = None) -> None:
        self.ended.set()
        self.woken.set()
        if self.listener is not None:
            self.listener.ended.set()  # it ends by itself, within a second or so
        super().stop(seconds)
