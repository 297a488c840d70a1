"""Wake-ups: processes and machines tell each other that there is something to read, so they poll rarely.

PostgreSQL's NOTIFY carries them; on SQLite the file itself tells. After a commit, rows that were added to a
registered table wake the other processes. Nothing waits for it: a thread of its own sends the wake-ups, many
commits with one. One that is lost is made up for by the polls of the others.
"""

# see docs/decisions/2026-11-25-wake-ups.md
from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from math import inf
from typing import Any, ClassVar

from sqlalchemy import Engine, NullPool, Pool, Table, create_engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.dml import Insert

from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.patience import Patience
from app.core.poll_loop import PollLoop
from app.core.postgresql import is_pooled, psycopg, watch_waiting

# topics
LINK_CHANGES = "link_changes"
OUTBOX = "outbox"
EVENTS = "events"

CHANNEL = "waypost"
LASTING = Patience(connect=5)  # a connection that waits for what others send
GAP_SECONDS = 0.02  # between two wake-ups, however many commits there are
SILENCE_SECONDS = 60.0  # between two lines in the log about wake-ups that can't be sent
WAIT_SECONDS = 1.0
RETRY_SECONDS, LONGEST_RETRY = 1.0, 30.0
MARKS = "waypost_wakeups"  # in a connection's `info`: the topics of what was added and not committed yet

log = logging.getLogger(__name__)
bells: weakref.WeakSet[Bell] = weakref.WeakSet()
topic_by_table: dict[str, str] = {}  # of the tables whose new rows wake others


class CarrierDown(Exception):
    """Wake-ups can't be sent or heard now."""


class Carrier:
    """NOTIFY and LISTEN on connections of their own, in transactions that never wait for the disk.

    In the transaction of a change, NOTIFY would hold a lock of the whole database until that one is on disk.
    """

    def __init__(self, database_url: str) -> None:
        self.engine = create_engine(database_url, poolclass=NullPool, hide_parameters=True)
        watch_waiting(self.engine, LASTING)
        self.sending: psycopg.Connection[Any] | None = None

    def connect(self) -> psycopg.Connection[Any]:
        """A new connection. Raises CarrierDown."""
        try:
            connection = self.engine.raw_connection()
            connection.detach()
        except (SQLAlchemyError, psycopg.Error) as error:
            raise CarrierDown(str(error)) from error
        made: psycopg.Connection[Any] = connection.dbapi_connection  # type: ignore[assignment]  # psycopg is the only driver
        made.autocommit = True
        return made

    def publish(self, topics: Collection[str]) -> None:
        """Sends a wake-up for each topic. Raises CarrierDown."""
        calls = "; ".join(f"NOTIFY {CHANNEL}, '{topic}'" for topic in topics)
        try:
            self.sending = self.sending or self.connect()
            self.sending.execute(f"BEGIN; SET LOCAL synchronous_commit TO off; {calls}; COMMIT".encode())
        except psycopg.Error as error:
            if self.sending is not None:
                with suppress(psycopg.Error):
                    self.sending.close()
                self.sending = None
            raise CarrierDown(str(error)) from error

    def subscribe(self) -> psycopg.Connection[Any]:
        """A connection that hears all topics. Raises CarrierDown."""
        connection = self.connect()
        if is_pooled(connection):
            connection.close()
            raise CarrierDown("nothing is heard through a pooler")
        try:
            connection.execute(f"LISTEN {CHANNEL}".encode())
        except psycopg.Error as error:
            connection.close()
            raise CarrierDown(str(error)) from error
        return connection


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
    """The bell of this process; None on SQLite."""

    bell: Bell | None = None


class Listener(PollLoop):
    """Calls a function for each topic that is heard.

    `is_live`: wake-ups arrive. Callers poll more often while it is not live.
    """

    def __init__(self, bell: Bell, callbacks: Mapping[str, Callable[[], object]]) -> None:
        super().__init__("wake-ups", RETRY_SECONDS, ErrorBoundary("wake-ups", max_outages=inf))
        self.bell, self.callbacks = bell, callbacks
        self.subscription: psycopg.Connection[Any] | None = None
        self.is_live = self.is_complaining = False
        self.pause = RETRY_SECONDS

    def turn(self) -> bool:
        """Hear for a while. False where that can't be done now; it is tried again after a rest."""
        try:
            if self.subscription is None:
                self.subscription = self.bell.carrier.subscribe()
                self.begin()
            self.hear(self.subscription)
        except CarrierDown as error:
            self.give_up(error)
            return False
        return True

    def rest(self, _seconds: float) -> None:
        self.ended.wait(self.pause)
        self.pause = min(2 * self.pause, LONGEST_RETRY)

    def run(self) -> None:
        super().run()
        self.is_live = False
        self.unsubscribe()

    def begin(self) -> None:
        self.is_live, self.pause = True, RETRY_SECONDS
        if self.is_complaining:
            self.is_complaining = False
            log.info("wake-ups are heard again")
        for callback in self.callbacks.values():  # some may have been missed until now
            callback()

    def hear(self, subscription: psycopg.Connection[Any]) -> None:
        """Wait for the next wake-up. Raises CarrierDown."""
        try:
            for heard in subscription.notifies(timeout=WAIT_SECONDS, stop_after=1):
                if heard.payload in self.callbacks:
                    self.callbacks[heard.payload]()
        except psycopg.Error as error:
            raise CarrierDown(str(error)) from error

    def give_up(self, error: CarrierDown) -> None:
        self.is_live = False
        self.unsubscribe()
        if not self.is_complaining:  # once, not with each try
            self.is_complaining = True
            log.warning("wake-ups are not heard; this process polls more often instead: %s", error)

    def unsubscribe(self) -> None:
        if self.subscription is not None:
            self.subscription.close()
            self.subscription = None


class WokenLoop(PollLoop):
    """A poll loop that hears its `topic` while it runs. A subclass says in `rest` how long it waits."""

    topic: ClassVar[str]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.listener: Listener | None = None

    @property
    def hears(self) -> bool:
        """Whether wake-ups arrive."""
        return self.listener is not None and self.listener.is_live

    def run(self) -> None:
        self.listener = start_listener({self.topic: self.wake})
        super().run()

    def end(self) -> None:
        if self.listener is not None:
            self.listener.end()  # it ends by itself, within a second or so
        super().end()


def start_listener(callbacks: Mapping[str, Callable[[], object]]) -> Listener | None:
    """A running listener; None where nothing carries wake-ups (`use_wakeups`)."""
    if CurrentBell.bell is None:
        return None
    listener = Listener(CurrentBell.bell, callbacks)
    listener.start()
    return listener


def use_wakeups(settings: Settings) -> None:
    """Ring after the commits of this process, on PostgreSQL."""
    CurrentBell.bell = None if settings.is_sqlite else Bell(Carrier(settings.database_url))
    if CurrentBell.bell and not event.contains(Engine, "before_execute", mark):
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
