"""A queue of deliveries for each handler, in one process.

It begins with one thread, and gets more once a delivery has arrived. As soon as one has failed, it gives back
what it still holds. So a receiver that hangs keeps one thread busy, and holds up no other receiver.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from app.notifications.message import Message

BATCH = 32  # taken from the database at once
THREADS = 4
PATIENCE_SECONDS = 20.0  # for waiting in a queue: with the 15 of an attempt, less than a lease


class Receiver(NamedTuple):
    """The workspace of a queue's handler and the host it sends to. System e-mail has workspace 0."""

    workspace_id: int
    host: str


@dataclass(frozen=True)
class ClaimedDelivery:
    """A claimed delivery, with all that a thread needs to send it. `refusal`: why it may not be sent.

    `handler_id` is OWN for mails from Waypost itself, which have a queue of their own.
    """

    id: int
    handler_id: int
    type: str
    fields: Mapping[str, str]
    message: Message
    refusal: str = ""
    tries: int = 0  # of the schedule, before this one
    taken: float = field(default_factory=time.monotonic)

    def is_stale(self) -> bool:
        return time.monotonic() - self.taken > PATIENCE_SECONDS


class HandlerQueue:
    """The deliveries that one process has claimed for one handler. `is_failing`: the last attempt failed."""

    def __init__(self, receiver: Receiver, *, is_failing: bool) -> None:
        self.receiver = receiver
        self.lock = threading.Lock()
        self.waiting: deque[ClaimedDelivery] = deque()
        self.threads = 0
        self.is_failing = is_failing
        self.is_proven = self.is_spoiled = False

    def room(self) -> int:
        """How many more deliveries may be claimed for this handler."""
        with self.lock:
            if self.is_failing:
                return 0 if self.threads or self.waiting else 1
            return BATCH - len(self.waiting) if len(self.waiting) <= BATCH // 4 else 0

    def most_threads(self) -> int:
        return THREADS if self.is_proven else 1

    def add(self, claimed: Collection[ClaimedDelivery], planned: int) -> int:
        """Add deliveries. Returns how many threads to start, which count as running from now on.

        They are `planned` at most, and one where all have ended meanwhile.
        """
        with self.lock:
            self.waiting.extend(claimed)
            self.is_spoiled = False
            planned = planned if self.threads else max(1, planned)
            more = max(0, min(self.most_threads() - self.threads, len(self.waiting), planned))
            self.threads += more
            return more

    def lose_thread(self) -> None:
        """Uncount a thread that could not be started. Without any left, what waits is given back."""
        with self.lock:
            self.threads -= 1

    def next(self) -> ClaimedDelivery | None:
        """The next delivery for a thread; None when the thread has to end, which is then uncounted."""
        with self.lock:
            if self.waiting and not self.is_spoiled and not self.waiting[0].is_stale():
                return self.waiting.popleft()
            self.threads -= 1
            return None

    def learn(self, *, is_delivered: bool) -> None:
        with self.lock:
            self.is_proven, self.is_failing = is_delivered, not is_delivered
            self.is_spoiled |= not is_delivered

    def give_back(self) -> list[ClaimedDelivery]:
        """Remove and return what no thread will send: the rest, where one failed or took too long."""
        with self.lock:
            is_stuck = self.is_spoiled or (self.waiting and self.waiting[0].is_stale())
            back = list(self.waiting) if is_stuck or not self.threads else []
            for _ in back:
                self.waiting.popleft()
            return back
