"""Bounded thread pools with bounded queues, in which client networks take turns.

A pool never grows and its queue never does. A job that finds the queue full, or has waited too long in it, is
refused instead of run. A network with many requests waits for its own turn and not in front of others.

At most `active` threads of a pool compute at a time; others may stand in `waiting_elsewhere` meanwhile, for
what another thread makes. Threads that compute queue for Python's lock, and a redirect waits behind all of
them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

# of a pool's threads for one network, where it has several
SHARE = 0.75
_this_thread = threading.local()  # `pool`: whose thread it is


@dataclass(eq=False, slots=True)
class Job:
    """What to do for one request, or instead of it. Neither may raise."""

    network: str
    run: Callable[[], None]
    refuse: Callable[[], None]
    queued: float = field(default_factory=time.monotonic)


class Pool:
    """`threads` daemon threads for jobs of one kind; at most `queue` jobs wait, none over `wait_seconds`."""

    def __init__(
        self, name: str, *, threads: int, queue: int, wait_seconds: float, active: int | None = None
    ) -> None:
        self.name = name
        self.threads = threads
        self.max_active = active or threads
        self.queue = queue
        self.wait_seconds = wait_seconds
        self.max_of_network = max(1, int(threads * SHARE))
        self.max_waiting_of_network = max(1, int(queue * SHARE))
        lock = threading.Lock()
        self.changed = threading.Condition(lock)
        self.active = 0
        self.resumable = threading.Condition(lock)
        self.resuming = 0  # threads that are back from elsewhere and wait for their turn to compute
        self.waiting: OrderedDict[str, deque[Job]] = OrderedDict()
        self.waiting_count = 0
        self.running: Counter[str] = Counter()

    def start(self) -> None:
        """Start all threads now: a thread started under load would hold up who starts it."""
        for number in range(self.threads):
            threading.Thread(target=self.work, name=f"{self.name}-{number}", daemon=True).start()

    def submit(self, job: Job) -> None:
        """Queue a job, or refuse it where there is no room. Never waits."""
        with self.changed:
            jobs = self.waiting.setdefault(job.network, deque())
            is_full = self.waiting_count >= self.queue or len(jobs) >= self.max_waiting_of_network
            if not is_full:
                jobs.append(job)
                self.waiting_count += 1
                self.changed.notify()
            elif not jobs:
                del self.waiting[job.network]
        if is_full:
            job.refuse()

    def work(self) -> None:
        _this_thread.pool = self
        while True:
            with self.changed:
                while (job := self.next_job()) is None:
                    self.changed.wait()
                self.running[job.network] += 1
                self.active += 1
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

    def next_job(self) -> Job | None:
        """The oldest job of the network whose turn it is, among those below their share of the threads.

        None where enough threads compute. Those that are back from elsewhere go first.
        """
        if self.active + self.resuming >= self.max_active:
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
        """The calling thread computes no more, so another one may."""
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

    def end_turn(self, network: str) -> None:
        self.running[network] -= 1
        if not self.running[network]:
            del self.running[network]


@contextmanager
def waiting_elsewhere() -> Iterator[None]:
    """The calling thread only waits in here. If it is a pool's, another one of the pool may compute."""
    pool: Pool | None = getattr(_this_thread, "pool", None)
    if pool is None:
        yield
        return
    pool.leave()
    try:
        yield
    finally:
        pool.come_back()
