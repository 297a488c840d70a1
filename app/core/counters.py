"""Counters of all processes of an instance, which `/metrics` of any of them reads.

Each process writes to a file of its own in `DATA_DIR/counters`, mapped into memory, so that counting costs an
addition and no lock between processes. A process that starts takes over the file of one that has ended and
counts on from there: figures of ended processes stay. No figure is worth a request, so where no file can be
had, the process counts in its own memory alone.
"""

# see docs/decisions/2026-11-25-counters-in-shared-memory.md
from __future__ import annotations

import fcntl
import hashlib
import logging
import mmap
import os
import threading
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from app.core.file_locks import is_held

FOLDER = "counters"
MAX_PROCESSES = 256  # files of one layout
BYTES_PER_CELL = 8
MAX_VALUE = 2**64 - 1

log = logging.getLogger(__name__)

# upper bounds of the classes of durations, in seconds
BOUNDS = (0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
BOUNDS_NS = tuple(round(bound * 1e9) for bound in BOUNDS)
REQUEST_CLASSES = ("redirect", "api", "dashboard", "other")
STATUS_CLASSES = ("2xx", "3xx", "4xx", "5xx")
PROCESS_KINDS = ("web", "worker")

# what grows, by name: each is a cell
TOTALS = (
    *(f"requests {kind} {status}" for kind in REQUEST_CLASSES for status in STATUS_CLASSES),
    *("cache hits", "cache misses"),
    *("attempts delivered", "attempts failed"),
    *("database checkouts", "database wait ns", "database timeouts"),
    *("database errors outage", "database errors statement"),
)
# what goes up and down; that of a process that has ended does not count
GAUGES = (*(f"processes {kind}" for kind in PROCESS_KINDS), "connections in use", "connections at most")
DURATION_CELLS = len(BOUNDS) + 2  # one a bound, one for what took longer, and the sum in nanoseconds
# redirects from memory are counted without a lock, by each of the server's threads in cells of its own
REDIRECT_THREADS = 8
HISTOGRAMS = (*REQUEST_CLASSES, *(f"from memory {number}" for number in range(REDIRECT_THREADS)))

CELL_BY_NAME = {name: cell for cell, name in enumerate((*TOTALS, *GAUGES))}
DURATIONS = {name: len(CELL_BY_NAME) + number * DURATION_CELLS for number, name in enumerate(HISTOGRAMS)}
CELLS = len(CELL_BY_NAME) + len(HISTOGRAMS) * DURATION_CELLS
SIZE = CELLS * BYTES_PER_CELL
# another version may have other cells, and counts in files of its own
LAYOUT = hashlib.sha256(repr((*CELL_BY_NAME, *HISTOGRAMS, BOUNDS)).encode()).hexdigest()[:12]


class Counters:
    """The cells of this process. Thread-safe."""

    def __init__(self) -> None:
        self.cells = memoryview(bytearray(SIZE)).cast("Q")
        self.is_open = False
        self.lock = threading.Lock()
        self.redirect_threads = 0

    def open(self, data_dir: Path, kind: str) -> None:
        """Count in a file from now on. Called once, by a process that nobody forks any more."""
        try:
            self.cells = take_file(data_dir / FOLDER)
            self.redirect_threads = 0
        except OSError as error:
            log.warning("metrics leave this process out, for its counters can't be stored: %s", error)
        self.is_open = True
        for name in GAUGES:
            self.set(name, 0)
        self.set(f"processes {kind}", 1)

    def add(self, name: str, number: int = 1) -> None:
        self.add_to(CELL_BY_NAME[name], number)

    def add_to(self, cell: int, number: int = 1) -> None:
        with self.lock:
            self.cells[cell] = (self.cells[cell] + number) & MAX_VALUE

    def set(self, name: str, value: int) -> None:
        self.cells[CELL_BY_NAME[name]] = max(0, value)

    def count_duration(self, histogram: str, nanoseconds: int) -> None:
        start = DURATIONS[histogram]
        self.add_to(start + bisect_left(BOUNDS_NS, nanoseconds))
        self.add_to(start + DURATION_CELLS - 1, nanoseconds)


class ThreadCells(threading.local):
    """The calling thread's histogram of redirects from memory; None for all but the first few threads."""

    def __init__(self) -> None:
        with counters.lock:
            number = counters.redirect_threads
            counters.redirect_threads += 1
        start = DURATIONS.get(f"from memory {number}")
        self.cells = None if start is None else counters.cells[start : start + DURATION_CELLS]


counters = Counters()
_this_thread = ThreadCells()


def count_redirect(nanoseconds: int, sum_cell: int = DURATION_CELLS - 1) -> None:
    """Count a redirect from memory. Takes a third of a microsecond, and no lock."""
    cells = _this_thread.cells
    if cells is not None:
        cells[bisect_left(BOUNDS_NS, nanoseconds)] += 1
        cells[sum_cell] += nanoseconds
    else:
        counters.count_duration("redirect", nanoseconds)
        counters.add("requests redirect 3xx")
        counters.add("cache hits")


# --- files


def take_file(directory: Path) -> memoryview:
    """The cells of a file that no living process counts in. Raises OSError.

    The file is locked until the process ends. Its space is allocated: a full disk must not stop the process
    when it writes to the memory.
    """
    directory.mkdir(mode=0o700, exist_ok=True)
    for path in files_of(directory):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            continue
        os.posix_fallocate(fd, 0, SIZE)
        remove_other_layouts(directory)
        return memoryview(mmap.mmap(fd, SIZE)).cast("Q")
    raise OSError(f"{directory} has {MAX_PROCESSES} files in use")


def files_of(directory: Path) -> Iterator[Path]:
    return (directory / f"{LAYOUT}.{number}" for number in range(MAX_PROCESSES))


def remove_other_layouts(directory: Path) -> None:
    """Remove the files of other versions, once their processes have ended."""
    for path in directory.iterdir():
        if not path.name.startswith(f"{LAYOUT}.") and not is_held(path):
            with suppress(FileNotFoundError):
                path.unlink()


class InstanceCounts:
    """The sums over all processes of this data directory, as of now."""

    def __init__(self, data_dir: Path) -> None:
        self.cells = [0] * CELLS
        gauges = range(len(TOTALS), len(TOTALS) + len(GAUGES))
        for path in files_of(data_dir / FOLDER):
            try:
                content = path.read_bytes()[:SIZE]
            except FileNotFoundError:  # files are taken in order, so there are no more
                break
            is_alive = is_held(path)
            for cell, value in enumerate(memoryview(content.ljust(SIZE, b"\0")).cast("Q")):
                if cell not in gauges or is_alive:
                    self.cells[cell] += value

    def get(self, name: str) -> int:
        """A total or a gauge, with the redirects from memory where they belong to it."""
        value = self.cells[CELL_BY_NAME[name]]
        if name in {"requests redirect 3xx", "cache hits"}:
            value += sum(sum(self.memory(number)[:-1]) for number in range(REDIRECT_THREADS))
        return value

    def durations(self, kind: str) -> tuple[list[int], float]:
        """How many requests took how long, by BOUNDS with one for all beyond; and the sum in seconds."""
        found = self.histogram(kind)
        if kind == "redirect":
            for number in range(REDIRECT_THREADS):
                found = [a + b for a, b in zip(found, self.memory(number), strict=True)]
        return found[:-1], found[-1] / 1e9

    def memory(self, number: int) -> list[int]:
        return self.histogram(f"from memory {number}")

    def histogram(self, name: str) -> list[int]:
        start = DURATIONS[name]
        return self.cells[start : start + DURATION_CELLS]
