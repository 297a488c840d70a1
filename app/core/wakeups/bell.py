"""Rings the bell after commits: rows that were added to a registered table wake the other processes.

Nothing waits for it. A thread of its own sends the wake-ups, many commits with one; one that is lost is made
up for by the polls of the others.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from typing import Any

from sqlalchemy import Engine, Pool, Table, event
from sqlalchemy.engine import Connection
from sqlalchemy.sql.dml import Insert

from app.core.config import Settings
from app.core.wakeups.carriers import Carrier, CarrierDown, make_carrier

# topics
LINK_CHANGES = "link_changes"
OUTBOX = "outbox"
EVENTS = "events"

GAP_SECONDS = 0.02  # between two wake-ups, however many commits there are
SILENCE_SECONDS = 60.0  # between two lines in the log about a carrier that is down
MARKS = "waypost_wakeups"  # in a connection's `info`: the topics of what was added and not committed yet

log = logging.getLogger(__name__)
bells: weakref.WeakSet[Bell] = weakref.WeakSet()
topic_by_table: dict[str, str] = {}  # of the tables whose new rows wake others


class Bell:
    """Sends wake-ups from a thread, which starts with the first one."""

    def __init__(self, carrier: Carrier) -> None:
        self.carrier = carrier
        self.begin_anew()
        bells.add(self)

    def begin_anew(self) -> None:
        """Forget what a forked child has from its parent: threads don't come along, and locks may be held."""
        self.lock = threading.Lock()
        self.rung = threading.Event()
        self.topics: set[str] = set()
        self.thread: threading.Thread | None = None
        self.silent_until = 0.0

    def ring(self, *topics: str) -> None:
        """Wake those who wait for these topics, soon. Never waits, and never fails."""
        with self.lock:
            self.topics.update(topics)
            if self.thread is None:
                self.thread = threading.Thread(target=self.run, name="wake-ups sent", daemon=True)
                self.thread.start()
        self.rung.set()

    def run(self) -> None:
        while True:
            self.rung.wait()
            self.rung.clear()
            self.send()
            time.sleep(GAP_SECONDS)

    def send(self) -> None:
        with self.lock:
            topics, self.topics = self.topics, set()
        try:
            self.carrier.publish(sorted(topics))
        except CarrierDown as error:
            if time.monotonic() >= self.silent_until:
                self.silent_until = time.monotonic() + SILENCE_SECONDS
                log.warning("wake-ups can't be sent; others find what is new by polling: %s", error)


class CurrentBell:
    """The bell of this process; None where there is no carrier."""

    bell: Bell | None = None


def use_wakeups(settings: Settings) -> None:
    """Ring after the commits of this process, where the settings have a carrier for that."""
    carrier = make_carrier(settings)
    CurrentBell.bell = Bell(carrier) if carrier else None
    if carrier and not event.contains(Engine, "before_execute", mark):
        event.listen(Engine, "before_execute", mark)
        event.listen(Pool, "checkin", ring_marks)


def wake_on_insert(table: Table, topic: str) -> None:
    """Have each committed INSERT into a table ring for a topic."""
    topic_by_table[table.fullname] = topic


def mark(connection: Connection, statement: Any, *_rest: Any) -> None:
    """Note the topic of an INSERT in its connection. It rings when the connection goes back to its pool."""
    if isinstance(statement, Insert) and isinstance(statement.table, Table):
        topic = topic_by_table.get(statement.table.fullname)
        if topic is not None:
            connection.info.setdefault(MARKS, set()).add(topic)


def ring_marks(_connection: Any, entry: Any) -> None:
    """Ring for what was added: by now it is committed. (After a rollback it wakes somebody in vain.)"""
    topics = entry.info.pop(MARKS, None)
    if topics and CurrentBell.bell is not None:
        CurrentBell.bell.ring(*topics)


def begin_all_anew() -> None:
    for bell in list(bells):
        bell.begin_anew()


os.register_at_fork(after_in_child=begin_all_anew)
