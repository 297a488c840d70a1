"""The loop of everything that polls: turn after turn until it is stopped."""

# see docs/decisions/2026-11-25-idle.md
from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from pathlib import Path

from sqlalchemy import Engine

from app.core.error_boundary import ErrorBoundary

# where nothing tells that there is news, as on PostgreSQL, loops that find nothing rest longer, up to this
LONGEST_SECONDS = 0.5
TICK_NS = 20_000_000  # twice the longest tick with which Linux dates what is written


class Quiet:
    """Whether nothing was written to some files since the last look, so that a loop can do without a turn.

    A look takes some 30 µs, where a turn that finds nothing takes some statements. Every `seconds` a turn
    is needed all the same, for what comes due by time alone.
    """

    def __init__(self, files: Callable[[], Iterable[Path]], seconds: float) -> None:
        self.files, self.seconds = files, seconds
        self.seen: list[tuple[str, int, int]] = []
        self.until = 0.0

    def is_quiet(self) -> bool:
        """Whether no turn is needed. If one is, it must begin after this call: what comes later is news."""
        found, now = list(map(stamp, self.files())), time.monotonic()
        if found == self.seen and now < self.until:
            return True
        # another write within the same tick of the system's clock would leave the same values: look again
        is_settled = max((written for *_, written in found), default=0) < time.time_ns() - TICK_NS
        self.seen, self.until = found if is_settled else [], now + self.seconds
        return False

    def forget(self) -> None:
        """Has the next look say that a turn is needed."""
        self.until = 0.0

    def seconds_left(self) -> float:
        """In how many seconds a turn is needed, if nothing is written."""
        return self.until - time.monotonic()


def stamp(path: Path) -> tuple[str, int, int]:
    """A value that changes with each write to a file."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return path.name, -1, -1
    return path.name, state.st_size, state.st_mtime_ns


def quiet_database(engine: Engine, seconds: float) -> Quiet | None:
    """Whether nothing was committed to `main.db`; None on PostgreSQL, where no file tells.

    Every commit writes to the write-ahead log.
    """
    if engine.dialect.name != "sqlite":
        return None
    files = [Path(f"{engine.url.database}{end}") for end in ("", "-wal")]
    return Quiet(lambda: files, seconds)


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
    """A thread that takes turns. A turn that raises is logged, and followed by others.

    With `quiet` it takes none while that tells that there is nothing to do. `longest_seconds`: the longest
    rest where turn after turn finds nothing. With `is_watched` a `FileWatch` looks instead, and wakes it.
    """

    is_watched = False

    def __init__(
        self,
        name: str,
        poll_seconds: float,
        errors: ErrorBoundary,
        retry_seconds: float = 0.0,
        *,
        quiet: Quiet | None = None,
        longest_seconds: float = 0.0,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.poll_seconds, self.retry_seconds = poll_seconds, retry_seconds
        self.quiet, self.longest_seconds = quiet, longest_seconds
        self.turn_errors = errors
        self.ended = threading.Event()
        self.woken = threading.Event()
        self.waits_for_news = False  # true also while it looks for some: what is written then is news

    def turn(self) -> object:
        """Does what there is to do now. Returns whether there may be more."""
        raise NotImplementedError

    def rest(self, seconds: float) -> None:
        """Waits, for `seconds` at most."""
        self.woken.wait(seconds)
        self.woken.clear()  # before the turn: what wakes it from here on is read by the next one

    def wake(self) -> None:
        """Ends the rest, from any thread."""
        self.woken.set()

    def hear_news(self) -> None:
        """Wakes it if it waits for news. One that has just had a turn rests as long as ever."""
        if self.waits_for_news:
            self.wake()

    def run(self) -> None:
        take_turns(self.attempt_turn, self.rest_or_wait, self.ended, self.poll_seconds, self.longest_seconds)

    def rest_or_wait(self, seconds: float) -> None:
        """Rests. Where others look for news, until they find some, or until something may come due."""
        if self.quiet is not None and self.is_watched and self.waits_for_news:
            seconds = max(seconds, self.quiet.seconds_left())
        self.rest(seconds)

    def is_quiet(self) -> bool:
        """Whether this turn can be left out."""
        return self.quiet is not None and self.quiet.is_quiet()

    def attempt_turn(self) -> bool:
        self.waits_for_news = True
        self.waits_for_news = self.is_quiet()
        if self.waits_for_news:
            return False
        moved = False
        with self.turn_errors.attempt() as made:
            moved = bool(self.turn())
        if made.error is not None:
            if self.quiet is not None:
                self.quiet.forget()  # what was to be done is not
            self.ended.wait(self.retry_seconds)
        return moved

    def end(self) -> None:
        """Has the loop end after the turn that is under way."""
        self.ended.set()
        self.wake()

    def stop(self, seconds: float | None = None) -> None:
        """Ends the loop, and waits for the turn that is under way, `seconds` at most."""
        self.end()
        if self.is_alive():
            self.join(seconds)


# see docs/decisions/2026-11-25-idle.md
class FileWatch(PollLoop):
    """Thread that looks at the files of loops, and wakes those that wait for something to be written there.

    A loop that is woken looks itself, and takes its turn. Those that know no files are left alone.
    """

    def __init__(self, seconds: float, loops: Iterable[PollLoop]) -> None:
        super().__init__("file watch", seconds, ErrorBoundary("file watch", max_outages=inf))
        self.loops: defaultdict[tuple[Path, ...], list[PollLoop]] = defaultdict(list)
        for loop in loops:
            if loop.quiet is not None:
                loop.is_watched = True
                self.loops[tuple(loop.quiet.files())].append(loop)
        self.looks = {files: Quiet(partial(tuple, files), inf) for files in self.loops}

    def start(self) -> None:
        if self.looks:
            super().start()

    def turn(self) -> None:
        for files, look in self.looks.items():
            if not look.is_quiet():
                for loop in self.loops[files]:
                    loop.hear_news()
