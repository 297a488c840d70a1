"""Password hashing in one thread of each process, on half of the cores, with bounded queues.

One argon2 hash takes 26 ms of a core and 19 MiB. Without a bound, a flood of sign-ins takes every core and
every thread from redirects. So one thread of low priority makes all hashes of the process, one at a time,
and the processes of a server take turns, so that hashes take no more than half of its cores. Requests wait
in queues of a bounded length, and the queues take turns: a flood of strangers' sign-ins fills the queue of
strangers, and owners who are known to this instance still get their turn.

When a queue is full, or after `WAIT_SECONDS` without a start, `Busy` is raised and no hash is made.
See docs/decisions/2026-11-22-password-hashing.md.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from app.core.errors import Busy, FieldError
from app.core.file_locks import wait_for_lock
from app.core.scheduling import LONG_MS, lower_priority, set_slice
from app.i18n.messages import lazy_gettext as _l

WAIT_SECONDS = 1.0  # for the start of a hash; one that has begun is waited for
RETRY_SECONDS = 2
LOW_PRIORITY = 5  # what `nice` adds: redirects get the core first
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
LARGE_BLOCK = 12 * 1024 * 1024  # less than a hash's memory, more than the body of a request

Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


class HashJob(NamedTuple):
    """The function to call, and the future that takes its result."""

    future: Future[Any]
    work: Callable[[], Any]


class HashPriority(Enum):
    """The queues, and how many requests of each may wait or be served at once."""

    STRANGERS = "strangers", 16  # who sign in
    KNOWN = "known", 16  # with a session, an API key, a one-time address, or a browser that was signed in
    VISITORS = "visitors", 16  # at a link's password

    def __init__(self, _name: str, places: int) -> None:
        self.places = places


_reserved: ContextVar[HashPriority | None] = ContextVar("hashing_priority", default=None)


class HashingGate:
    """The queue of one process, and the thread that runs its jobs."""

    def __init__(self) -> None:
        # entered by a thread while it only waits; a server sets one that lets another thread run meanwhile
        self.waiting: Callable[[], AbstractContextManager[None]] = nullcontext
        # entered for each hash; a server of several processes sets one that waits for this process's turn
        self.turn: Callable[[], AbstractContextManager[None]] = nullcontext
        self.reset()

    def reset(self) -> None:
        """Resets everything, as in a forked child: it has no threads, and a lock could stay held."""
        self.changed = threading.Condition()
        self.taken = dict.fromkeys(HashPriority, 0)
        # rotated at each job, so that every queue has its turn
        self.queues: deque[HashPriority] = deque(HashPriority)
        self.jobs: dict[HashPriority, deque[HashJob]] = {priority: deque() for priority in HashPriority}
        self.thread: threading.Thread | None = None

    @contextmanager
    def reserve(self, priority: HashPriority) -> Iterator[None]:
        """Holds one of the queue's places for all hashes made inside. Raises Busy when the queue is full.

        Called before a try is counted, so that a request refused here is not counted as a try. Inside another
        reservation this does nothing.
        """
        if _reserved.get() is not None:
            yield
            return
        self.take_place(priority)
        token = _reserved.set(priority)
        try:
            yield
        finally:
            _reserved.reset(token)
            self.leave_place(priority)

    def take_place(self, priority: HashPriority) -> None:
        with self.changed:
            if self.taken[priority] >= priority.places:
                raise busy()
            self.taken[priority] += 1

    def leave_place(self, priority: HashPriority) -> None:
        with self.changed:
            self.taken[priority] -= 1

    def run(self, work: Callable[[], Answer]) -> Answer:
        """Lets the hashing thread compute `work`. Raises Busy if it does not start in time."""
        with self.reserve(HashPriority.KNOWN):
            future: Future[Answer] = Future()
            self.enqueue(_reserved.get() or HashPriority.KNOWN, HashJob(future, work))
            with self.waiting():
                try:
                    return future.result(WAIT_SECONDS)
                except TimeoutError:
                    if future.cancel():
                        raise busy() from None
                    return future.result()  # it has begun

    def enqueue(self, priority: HashPriority, job: HashJob) -> None:
        with self.changed:
            self.jobs[priority].append(job)
            if self.thread is None:
                self.thread = threading.Thread(target=self.work_off, name="hashing", daemon=True)
                self.thread.start()
            self.changed.notify()

    def work_off(self) -> None:
        lower_priority(LOW_PRIORITY)
        set_slice(LONG_MS)
        return_large_blocks()
        while True:
            job = self.next_job()
            with ExitStack() as stack:
                try:
                    stack.enter_context(self.turn())
                except OSError:  # no descriptor or no file: to hash out of turn is better than never again
                    log.exception("a password is hashed out of turn")
                self.do(job)
            del job  # or the last password would stay in memory until the next one

    def do(self, job: HashJob) -> None:
        if not job.future.set_running_or_notify_cancel():
            return
        try:
            job.future.set_result(job.work())
        except Exception as error:  # noqa: BLE001  it is raised in the caller's thread
            job.future.set_exception(error)

    def next_job(self) -> HashJob:
        with self.changed:
            while True:
                for _ in range(len(self.queues)):
                    self.queues.rotate(-1)
                    if waiting := self.jobs[self.queues[0]]:
                        return waiting.popleft()
                self.changed.wait()


def turn_of_process(directory: Path) -> AbstractContextManager[None]:
    """Waits until this process may make a hash: half of the machine's cores make hashes at a time."""
    at_once = max(1, (os.cpu_count() or 1) // 2)
    return wait_for_lock(directory / f"hashing-{os.getpid() % at_once}.lock")


def return_large_blocks() -> None:
    """Lets the C library return each large block of this process to the system as soon as it is freed.

    Otherwise glibc keeps the 19 MiB of a hash for the next one. It costs a hash 8 % more time. With a fixed
    threshold glibc trims its heaps at 128 KiB, which slows down everything else: it is set to what glibc
    chooses by itself, twice the other. A C library without these settings is left as it is.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
        mallopt(M_TRIM_THRESHOLD, 2 * LARGE_BLOCK)


def busy() -> Busy:
    text = _l("Too many passwords are being checked at this moment. Try again in a few seconds.")
    return Busy(RETRY_SECONDS, FieldError(text, "busy"))


GATE = HashingGate()
os.register_at_fork(after_in_child=GATE.reset)
