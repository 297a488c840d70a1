"""Storage of rate limits whose fixed windows are counted by one statement."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod

from limits.storage import Storage
from limits.storage.base import MovingWindowSupport


class WindowStorage(Storage, MovingWindowSupport):
    """A storage whose fixed window is added to and read in one step.

    The library asks for the count and the end of a window after adding to it: each thread keeps those of the
    window that it has just added to.
    """

    STORAGE_SCHEME = None

    def __init__(self) -> None:
        super().__init__()
        self.counted = threading.local()

    @abstractmethod
    def add_to_window(self, key: str, expiry: int, amount: int) -> tuple[int, float]:
        """Adds to the open fixed window, or opens one of `expiry` seconds. Returns its count and its end."""

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Adds to the fixed window, and returns its count."""
        window = self.add_to_window(key, expiry, amount)
        self.counted.key, self.counted.window = key, window
        return window[0]

    def get(self, key: str) -> int:
        return self.window(key)[0]

    def get_expiry(self, key: str) -> float:
        return self.window(key)[1]

    def window(self, key: str) -> tuple[int, float]:
        """The count of the fixed window that this thread has added to last, and when it ends."""
        if getattr(self.counted, "key", None) != key:
            return 0, time.time()
        window: tuple[int, float] = self.counted.window
        return window
