"""Log filter that holds back warnings repeated within a minute, and adds their number to the next one."""

from __future__ import annotations

import logging
import threading
import time

SECONDS = 60.0
MAX_WARNINGS = 500  # warnings that are remembered, by their first 500 characters: about half a megabyte
LONGEST = 500
OF_ONE_LINE = frozenset({"timestamp", "request_id"})  # these differ between lines of the same warning


class RepeatFilter(logging.Filter):
    """Passes each warning of the same logger and text once a minute. All other levels always pass."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.said: dict[tuple[str, str], tuple[float, int]] = {}  # when it was logged, and how often since

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING:
            return True
        key, now = (record.name, text_of(record)[:LONGEST]), time.monotonic()
        with self.lock:
            last, held_back = self.said.get(key, (None, 0))
            if last is not None and now - last < SECONDS:
                self.said[key] = last, held_back + 1
                return False
            self.said.pop(key, None)  # to the end: the oldest go first
            self.said[key] = now, 0
            if len(self.said) > MAX_WARNINGS:
                del self.said[next(iter(self.said))]
        if held_back:
            add_note(record, f"{held_back} more times since the last line")
        return True


def text_of(record: logging.LogRecord) -> str:
    """The text of a line without what differs each time: the time and the request."""
    if isinstance(record.msg, dict):
        return str({name: value for name, value in record.msg.items() if name not in OF_ONE_LINE})
    return record.getMessage()


def add_note(record: logging.LogRecord, note: str) -> None:
    if isinstance(record.msg, dict):
        record.msg = {**record.msg, "repeated": note}
    else:
        record.msg, record.args = f"{record.getMessage()} ({note})", ()
