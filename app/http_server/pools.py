"""Bounded thread pools with bounded queues, in which client networks take turns.

Neither a pool nor its queue ever grows. A job that finds the queue full, or has waited too long in it, is
refused instead of run. A network with many requests waits for its own turn, and delays no others.

At most `active` threads of a pool compute at a time. Others may be in `waiting_elsewhere` meanwhile, until
another thread has a result for them. Threads that compute queue for Python's lock, and a redirect waits
behind all of them. A pool with `pause_seconds` pauses after each job: mass requests of no importance are
answered slowly, and leave the processor to redirects.

In a pool with `at_once` no more jobs than that begin together: the next one begins when one has ended, or
has run for `SHORT_SECONDS`, because it may be waiting for something. Answers of a millisecond so follow each
other in one thread, and do not take Python's lock from each other.
"""

# see docs/decisions/2026-11-25-processor-time-of-requests.md

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from app.core.scheduling import LONG_MS, set_slice

log = logging.getLogger(__name__)

# the part of a pool's threads and queue that one network may take
SHARE = 0.75
# after which a running job no longer keeps others of its pool from beginning
SHORT_SECONDS = 0.01
_this_thread = threading.local()  # `pool`: the pool that owns this thread


@dataclass(eq=False, slots=True)
class RequestJob:
    """Functions that answer one request, or refuse it. Neither may raise."""

    network: str
    run: Callable[[], None]
    refuse: Callable[[], None]
    queued: float = field(default_factory=time.monotonic)


class Pool:
    """`threads` daemon threads for jobs of one kind; at most `queue` jobs wait, none over `wait_seconds`."""

    def __init__(
        self,
        name: str,
        *,
        threads: int,
        queue: int,
        wait_seconds: float,
        active: int | None = None,
        at_once: int | None = None,
        pause_seconds: float = 0.0,
    ) -> None:
        self.name = name
        self.threads = threads
        self.max_active = active or threads
        self.at_once = at_once or threads
        self.queue = queue
        self.wait_seconds = wait_seconds
        self.pause_seconds = pause_seconds
        self.max_of_network = max(1, int(threads * SHARE))
        self.max_waiting_of_network = max(1, int(queue * SHARE))
        lock = threading.Lock()
        self.changed = threading.Condition(lock)
        self.active = 0
        self.resumable = threading.Condition(lock)
        self.resuming = 0  # threads back from `waiting_elsewhere` that wait for their turn
        self.waiting: OrderedDict[str, deque[RequestJob]] = OrderedDict()
        self.waiting_count = 0
        self.running: Counter[str] = Counter()
        self.begun: dict[int, float] = {}  # by thread, when its job began; the newest last
        self.is_watched = False  # a thread waits until a job may begin beside those that run

    def start(self) -> None:
        """Start all threads now: starting one under load would hold up the caller."""
        for number in range(self.threads):
            threading.Thread(target=self.work, name=f"{self.name}-{number}", daemon=True).start()

    def submit(self, job: RequestJob) -> None:
        """Queue a job, or refuse it if there is no room. Never waits."""
        with self.changed:
            jobs = self.waiting.setdefault(job.network, deque())
            is_full = self.waiting_count >= self.queue or len(jobs) >= self.max_waiting_of_network
            if not is_full:
                jobs.append(job)
                self.waiting_count += 1
                if not self.is_watched or not self.seconds_until_room():
                    self.changed.notify()
            elif not jobs:
                del self.waiting[job.network]
        if is_full:
            job.refuse()

    def work(self) -> None:
        set_slice(LONG_MS)  # redirects go first
        _this_thread.pool = self
        while True:
            with self.changed:
                while (job := self.next_job()) is None:
                    self.wait_for_job()
                self.begin_turn(job.network)
            try:
                has_waited = time.monotonic() - job.queued
                (job.run if has_waited <= self.wait_seconds else job.refuse)()
            except BaseException:  # a pool that loses its threads one by one ends all service
                log.exception("a job of the pool %s failed", self.name)
            finally:
                with self.changed:
                    self.end_turn(job.network)
                    self.active -= 1
                    self.resumable.notify()
            if self.pause_seconds:
                time.sleep(self.pause_seconds)

    def wait_for_job(self) -> None:
        """Wait until there may be a job to do. Where jobs wait for others, one thread watches the time."""
        seconds = 0.0 if self.is_watched or not self.waiting_count else self.seconds_until_room()
        if not seconds:
            self.changed.wait()
            return
        self.is_watched = True
        self.changed.wait(seconds)
        self.is_watched = False

    def seconds_until_room(self) -> float:
        """In how many seconds another job may begin, if none ends before that; 0 for at once."""
        if len(self.begun) < self.at_once:
            return 0.0
        begun = next(islice(reversed(self.begun.values()), self.at_once - 1, None))
        return max(0.0, begun + SHORT_SECONDS - time.monotonic())

    def next_job(self) -> RequestJob | None:
        """The oldest job of the network whose turn it is, among those below their share of the threads.

        None if enough threads compute. Threads that return from `waiting_elsewhere` go first.
        """
        if self.active + self.resuming >= self.max_active or self.seconds_until_room():
            return None
        for network, jobs in self.waiting.items():
            if self.running[network] < self.max_of_network:
                job = jobs.popleft()
                self.waiting_count -= 1
                if jobs:
                    self.waiting.move_to_end(network)
                else:
                    del self.waiting[network]
                return job
        return None

    def leave(self) -> None:
        """Let another thread compute instead of the calling one."""
        with self.changed:
            self.active -= 1
            (self.resumable if self.resuming else self.changed).notify()

    def come_back(self) -> None:
        with self.changed:
            self.resuming += 1
            while self.active >= self.max_active:
                self.resumable.wait()
            self.resuming -= 1
            self.active += 1

    def begin_turn(self, network: str) -> None:
        self.running[network] += 1
        self.active += 1
        self.begun[threading.get_ident()] = time.monotonic()
        if self.waiting_count and self.at_once < self.threads and not self.is_watched:
            self.changed.notify()

    def end_turn(self, network: str) -> None:
        del self.begun[threading.get_ident()]
        self.running[network] -= 1
        if not self.running[network]:
            del self.running[network]


@contextmanager
def waiting_elsewhere() -> Iterator[None]:
    """Marks a block in which the thread only waits: another thread of its pool may compute meanwhile."""
    pool: Pool | None = getattr(_this_thread, "pool", None)
    if pool is None:
        yield
        return
    pool.leave()
    try:
        yield
    finally:
        pool.come_back()
