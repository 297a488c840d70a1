"""Error boundary of a loop: an error of one item is logged, counted and backed off, and the loop goes on.

Every loop of the worker runs its items inside `ErrorBoundary.attempt`. This is the only place that catches
any exception on behalf of a loop.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

FIRST_SECONDS, MAX_SECONDS = 10.0, 900.0
MAX_ITEMS = 10_000  # that are remembered as failing; the oldest are forgotten first
COUNTS_FILE = "worker-errors.json"

log = logging.getLogger(__name__)

_counts: Counter[str] = Counter()
_counts_lock = threading.Lock()


@dataclass
class Attempt:
    """What came of one item; `error` is None where it went well."""

    error: Exception | None = None


@dataclass
class Failing:
    """An item that fails: how many times in a row, and when it may be tried again (monotonic seconds)."""

    times: int
    until: float


class ErrorBoundary:
    """Keeps the errors of one loop's items apart. `loop` is its name in logs and metrics.

    An item that fails again and again waits twice as long each time, up to `max_seconds`. `is_passed` tells
    errors that no item is to blame for: these go on to the loop. Thread-safe.
    """

    def __init__(
        self,
        loop: str,
        *,
        first_seconds: float = FIRST_SECONDS,
        max_seconds: float = MAX_SECONDS,
        is_passed: Callable[[Exception], bool] = lambda _error: False,
    ) -> None:
        self.loop, self.first_seconds, self.max_seconds = loop, first_seconds, max_seconds
        self.is_passed = is_passed
        self._failing: dict[Hashable, Failing] = {}
        self._lock = threading.Lock()
        with _counts_lock:
            _counts.setdefault(loop, 0)

    @contextmanager
    def attempt(self, item: Hashable = None) -> Iterator[Attempt]:
        """Run an item. Any exception ends here; `item` names it in the log, None has no back-off."""
        made = Attempt()
        try:
            yield made
        except Exception as error:  # whatever one item raises must not end the loop for others
            if self.is_passed(error):
                raise
            made.error = error
            self.fail(item, error)
        else:
            self.succeed(item)

    def fail(self, item: Hashable, error: Exception | str) -> None:
        """Log and count an error of an item, and back it off."""
        with _counts_lock:
            _counts[self.loop] += 1
        seconds = self._back_off(item) if item is not None else 0.0
        again = f", tried again in {seconds:g} s" if item is not None else ""
        text = describe(error)
        # what a database or the system refuses says so in one line; any other error is a mistake of ours
        is_ours = isinstance(error, Exception) and not isinstance(error, (SQLAlchemyError, OSError))
        trace = error if is_ours and isinstance(error, Exception) else None
        log.warning("%s: item %s failed%s: %s", self.loop, item, again, text, exc_info=trace)

    def succeed(self, item: Hashable) -> None:
        with self._lock:
            self._failing.pop(item, None)

    def is_backed_off(self, item: Hashable) -> bool:
        """Whether an item that failed is not to be tried yet."""
        with self._lock:
            found = self._failing.get(item)
            return found is not None and time.monotonic() < found.until

    def backed_off(self) -> list[Hashable]:
        """Every item that is not to be tried yet."""
        now = time.monotonic()
        with self._lock:
            return [item for item, found in self._failing.items() if now < found.until]

    def _back_off(self, item: Hashable) -> float:
        with self._lock:
            before = self._failing.pop(item, Failing(0, 0.0))
            seconds: float = min(self.first_seconds * 2 ** min(before.times, 30), self.max_seconds)
            self._failing[item] = Failing(before.times + 1, time.monotonic() + seconds)
            while len(self._failing) > MAX_ITEMS:
                self._failing.pop(next(iter(self._failing)))
        return seconds


def describe(error: Exception | str) -> str:
    """The first line of an error: what follows may hold what an owner typed."""
    return (str(error).strip() or repr(error)).splitlines()[0]


def write_counts(data_dir: Path) -> None:
    """Store the errors that this process counted, for processes that answer `/metrics`."""
    with _counts_lock:
        text = json.dumps(_counts)
    path = data_dir / COUNTS_FILE
    if text != _read(path):
        draft = path.with_suffix(".draft")
        draft.write_text(text)
        draft.replace(path)


def read_counts(data_dir: Path) -> dict[str, int]:
    """Errors of the worker by loop, since it started; empty where none was ever stored."""
    try:
        found = json.loads(_read(data_dir / COUNTS_FILE) or "{}")
    except ValueError:  # half-written by a power cut
        return {}
    return {str(loop): int(number) for loop, number in found.items()}


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
