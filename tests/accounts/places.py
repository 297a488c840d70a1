"""Blocks password hashing in tests: by full queues, or by a busy hashing thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from app.accounts import hashing
from app.accounts.hashing import GATE, HashPriority

SECONDS = 60


def fill(taken: ExitStack, priority: HashPriority) -> None:
    """Takes every place of this queue until `taken` is closed, as other requests would."""
    for _ in range(priority.places):
        GATE.take_place(priority)
        taken.callback(GATE.leave_place, priority)


@contextmanager
def no_hash_begins() -> Iterator[None]:
    """Keeps the hashing thread busy for longer than a request waits."""
    begun, done = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        done.wait(SECONDS)

    thread = threading.Thread(target=GATE.run, args=(work,))
    thread.start()
    try:
        assert begun.wait(SECONDS)
        with patch.object(hashing, "WAIT_SECONDS", 0.01):
            yield
    finally:
        done.set()
        thread.join()
