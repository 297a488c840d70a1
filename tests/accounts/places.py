"""Blocks password hashing in tests: by full lanes, or by a busy hashing thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from app.accounts import hashing
from app.accounts.hashing import GATE, HashPriority

SECONDS = 60


def fill(taken: ExitStack, lane: HashPriority) -> None:
    """Takes every place of this lane until `taken` is closed, as other requests would."""
    for _ in range(lane.places):
        GATE.take_place(lane)
        taken.callback(GATE.leave_place, lane)


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
