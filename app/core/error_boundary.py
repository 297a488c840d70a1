"""Error boundary of a loop: an error of one item is logged, counted and backed off, and the loop goes on.

Every loop of the worker runs its items inside `ErrorBoundary.attempt`. This is the only place that catches
any exception on behalf of a loop. (docs/decisions/2026-11-22-errors-in-loops.md)
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

from sqlalchemy.exc import SQLAlchemyError

from app.core.database import is_outage

FIRST_SECONDS, MAX_SECONDS = 10.0, 900.0
OUTAGE_SECONDS = 1.0
LOG_SECONDS = 60.0  # the same line is logged at most so often
MAX_OUTAGES = 3  # in a row: then the database is away, and no item is to blame
MAX_ITEMS = 10_000  # that are remembered as failing; the oldest are forgotten first
COUNTS_FILE = "worker-errors.json"

P = ParamSpec("P")
T = TypeVar("T")
H = TypeVar("H", bound=Hashable)
log = logging.getLogger(__name__)

_uncounted: Counter[str] = Counter()  # errors that `flush_counts` has not stored yet
_counts_lock = threading.Lock()


@dataclass
class Attempt:
    """Result of one item. `error` is None where it went well; else it is tried again in `seconds`."""

    error: Exception | None = None
    seconds: float = 0.0


@dataclass
class Failing:
    """An item that fails: how many times in a row, and when it may be tried again (monotonic seconds)."""

    times: int
    until: float


#: all error boundaries of this process
boundaries: WeakSet[ErrorBoundary] = WeakSet()


class ErrorBoundary:
    """Isolates the items of one loop from each other's errors. `loop` is its name in logs and metrics.
    Thread-safe.

    An item that fails again and again waits twice as long each time, up to `max_seconds`. Errors for which
    `is_passed` is true go on to the caller; so does the third in a row that says that the database is away.
    """

    def __init__(
        self,
        loop: str,
        *,
        first_seconds: float = FIRST_SECONDS,
        max_seconds: float = MAX_SECONDS,
        is_passed: Callable[[Exception], bool] = lambda _error: False,
        max_outages: float = MAX_OUTAGES,
    ) -> None:
        self.loop, self.first_seconds, self.max_seconds = loop, first_seconds, max_seconds
        self.is_passed, self.max_outages = is_passed, max_outages
        self._failing: dict[Hashable, Failing] = {}
        self._said: dict[tuple[Hashable, str], float] = {}
        self._outages = 0
        self._lock = threading.Lock()
        boundaries.add(self)

    @contextmanager
    def attempt(self, item: Hashable = None) -> Iterator[Attempt]:
        """Runs an item, and catches any exception. `item` names it in the log; None has no back-off."""
        made = Attempt()
        try:
            yield made
        except Exception as error:  # whatever one item raises must not end the loop for others
            self._outages = self._outages + 1 if is_outage(error) else 0
            if self.is_passed(error) or self._outages >= self.max_outages:
                raise
            made.error, made.seconds = error, self.fail(item, error)
        else:
            self._outages = 0
            self.succeed(item)

    def run(self, item: Hashable, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | None:
        """Runs an item unless it is backed off. Returns the result of `work`, None if it failed or waits."""
        if not self.is_backed_off(item):
            with self.attempt(item):
                return work(*args, **options)
        return None

    def each(
        self,
        items: Sequence[T],
        work: Callable[[Sequence[T]], object],
        key: Callable[[T], Any] = lambda item: item,
    ) -> list[tuple[T, Exception]]:
        """Runs the items together; where that raises, each alone. Returns those that failed, and why.

        `work` does all or nothing: it is called again for the same items. `key` names an item.
        """
        if len(items) > 1:
            try:
                work(items)
            except Exception as error:  # one of the items is to blame: running each alone shows which
                if self.is_passed(error):
                    raise
                log.debug("%s: %d items are processed one by one", self.loop, len(items))
            else:
                self._outages = 0
                return []
        failed = []
        for item in items:
            with self.attempt(key(item)) as made:
                work([item])
            if made.error is not None:
                failed.append((item, made.error))
        return failed

    def fail(self, item: Hashable, error: Exception | str) -> float:
        """Logs and counts an error of an item, and backs it off. Returns for how many seconds."""
        with _counts_lock:
            _uncounted[self.loop] += 1
        seconds = self._back_off(item, error) if item is not None else 0.0
        again = f", tried again in {seconds:g} s" if item is not None else ""
        # a refusal of the database or the system is one line; any other error is a bug, with a traceback
        is_ours = isinstance(error, Exception) and not isinstance(error, (SQLAlchemyError, OSError))
        text = describe(error)
        log.log(
            logging.WARNING if self._is_news(item, text) else logging.DEBUG,
            "%s: item %s failed%s: %s",
            self.loop,
            item,
            again,
            text,
            exc_info=error if is_ours and isinstance(error, Exception) else None,
        )
        return seconds

    def forget(self) -> None:
        """Clears all back-offs, so that every item is tried again at once."""
        with self._lock:
            self._failing.clear()
            self._said.clear()
            self._outages = 0

    def succeed(self, item: Hashable) -> None:
        with self._lock:
            self._failing.pop(item, None)

    def is_backed_off(self, item: Hashable) -> bool:
        """Whether an item that failed is not to be tried yet."""
        with self._lock:
            found = self._failing.get(item)
            return found is not None and time.monotonic() < found.until

    def backed_off(self, kind: type[H]) -> list[H]:
        """Every item of this type that is not to be tried yet."""
        now = time.monotonic()
        with self._lock:
            waiting = [item for item, found in self._failing.items() if now < found.until]
        return [item for item in waiting if isinstance(item, kind)]

    def _is_news(self, item: Hashable, text: str) -> bool:
        """Whether this was not logged in the last minute."""
        now = time.monotonic()
        with self._lock:
            self._said = {said: until for said, until in self._said.items() if until > now}
            is_news = (item, text) not in self._said
            self._said.setdefault((item, text), now + LOG_SECONDS)
            if len(self._said) > MAX_ITEMS:
                self._said.pop(next(iter(self._said)))
        return is_news

    def _back_off(self, item: Hashable, error: Exception | str) -> float:
        with self._lock:
            before = self._failing.pop(item, Failing(0, 0.0))
            seconds: float = min(self.first_seconds * 2 ** min(before.times, 30), self.max_seconds)
            if isinstance(error, Exception) and is_outage(error):
                seconds = min(seconds, OUTAGE_SECONDS)
            self._failing[item] = Failing(before.times + 1, time.monotonic() + seconds)
            while len(self._failing) > MAX_ITEMS:
                self._failing.pop(next(iter(self._failing)))
        return seconds


def describe(error: Exception | str) -> str:
    """The first line of an error: the others may hold what an owner typed."""
    return (str(error).strip() or repr(error)).splitlines()[0]


# --- counts, for `/metrics`


def flush_counts(data_dir: Path) -> None:
    """Adds what this process has counted since the last call to the file that all processes share."""
    with _counts_lock:
        if not _uncounted:
            return
        path = data_dir / COUNTS_FILE
        fd = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            flock(fd, LOCK_EX)
            draft = path.with_suffix(".draft")
            draft.write_text(json.dumps(Counter(read_counts(data_dir)) + _uncounted))
            draft.replace(path)
        finally:
            os.close(fd)
        _uncounted.clear()


def read_counts(data_dir: Path) -> dict[str, int]:
    """Errors by loop, of all processes; empty where none are stored."""
    try:
        found = json.loads((data_dir / COUNTS_FILE).read_text())
    except (FileNotFoundError, ValueError):  # a power cut may leave half of the file
        return {}
    return {str(loop): int(number) for loop, number in found.items()}
