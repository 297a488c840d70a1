"""The loop of everything that polls: turn after turn until it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable

from app.core.error_boundary import ErrorBoundary


def take_turns(
    turn: Callable[[], object],
    rest: Callable[[float], object],
    ended: threading.Event,
    seconds: float,
    longest: float = 0.0,
) -> None:
    """Takes turns until `ended` is set: the next at once where there was something to do, else after a rest.

    A rest takes `seconds`, and with `longest` each further one twice as long, up to that.
    """
    pause = seconds
    while not ended.is_set():
        if turn():
            pause = seconds
        else:
            rest(pause)
            pause = min(2 * pause, max(longest, seconds))


class PollLoop(threading.Thread):
    """A thread that takes turns. A turn that raises is logged, and followed by others."""

    def __init__(
        self, name: str, poll_seconds: float, errors: ErrorBoundary, retry_seconds: float = 0.0
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.poll_seconds, self.retry_seconds = poll_seconds, retry_seconds
        self.turn_errors = errors
        self.ended = threading.Event()

    def turn(self) -> object:
        """Does what there is to do now. Returns whether there may be more."""
        raise NotImplementedError

    def rest(self, seconds: float) -> None:
        """Waits, for `seconds` at most."""
        self.ended.wait(seconds)

    def run(self) -> None:
        take_turns(self.attempt_turn, self.rest, self.ended, self.poll_seconds)

    def attempt_turn(self) -> bool:
        moved = False
        with self.turn_errors.attempt() as made:
            moved = bool(self.turn())
        if made.error is not None:
            self.ended.wait(self.retry_seconds)
        return moved

    def stop(self, seconds: float | None = None) -> None:
        """Ends the loop, and waits for the turn that is under way, `seconds` at most."""
        self.ended.set()
        if self.is_alive():
            self.join(seconds)
