"""Bounded thread pools with bounded queues, in which client networks take turns.

A pool never grows and its queue never does. A job that finds the queue full, or has waited too long in it, is
refused instead of run. A network with many requests waits for its own turn and not in front of others.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

# of a pool's threads for one network, where it has several
SHARE = 0.75


@dataclass(eq=False, slots=True)
class Job:
    """What to do for one request, or instead of it. Neither may raise."""

    network: str
    run: Callable[[], None]
    refuse: Callable[[], None]
    queued: float = field(default_factory=time.monotonic)


class Pool:
    """`threads` daemon threads for jobs of one kind; at most `queue` jobs wait, none over `wait_seconds`."""

    def __init__(self, name: str, *, threads: int, queue: int, wait_seconds: float) -> None:
        self.name = name
        self.threads = threads
        self.queue = queue
        self.wait_seconds = wait_seconds
        self.max_of_network = max(1, int(threads * SHARE))
        self.max_waiting_of_network = max(1, int(queue * SHARE))
        self.changed = threading.Condition(threading.Lock())
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
        while True:
            with self.changed:
                while (job := self.next_job()) is None:
                    self.changed.wait()
                self.running[job.network] += 1
            try:
                has_waited = time.monotonic() - job.queued
                (job.run if has_waited <= self.wait_seconds else job.refuse)()
            except BaseException:  # a pool that loses its threads one by one ends all service
                log.exception("a job of the pool %s failed", self.name)
            finally:
                with self.changed:
                    self.end_turn(job.network)

    def next_job(self) -> Job | None:
        """The oldest job of the network whose turn it is, among those below their share of the threads."""
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

    def end_turn(self, network: str) -> None:
        self.running[network] -= 1
        if not self.running[network]:
            del self.running[network]
