"""A poll loop whose rests are ended by wake-ups of one topic."""

from __future__ import annotations

from typing import Any, ClassVar

from app.core.poll_loop import PollLoop
from app.core.wakeups.listener import Listener, start_listener


class WokenLoop(PollLoop):
    """Hears its `topic` while it runs. A subclass says in `rest` for how long it waits at most."""

    topic: ClassVar[str]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.listener: Listener | None = None

    @property
    def hears(self) -> bool:
        """Whether wake-ups are known to arrive."""
        return self.listener is not None and self.listener.is_live

    def run(self) -> None:
        self.listener = start_listener({self.topic: self.wake})
        super().run()

    def end(self) -> None:
        if self.listener is not None:
            self.listener.end()  # it ends by itself, within a second or so
        super().end()
