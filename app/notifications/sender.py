"""How is everything that waits delivered, many at once, so that none waits for another's receiver?

One thread talks to the database: it takes what is due, writes down what came of it, and starts the threads
that send. A process that is killed leaves leases behind, and whoever comes next goes on when they end.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import inf
from types import MappingProxyType

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from app.claims import moment
from app.config import Settings
from app.database import begin_write, is_outage
from app.error_boundary import ErrorBoundary
from app.notifications import waiting
from app.notifications.delivery import Outcome, attempt
from app.notifications.door import Door
from app.notifications.lanes import Lane, Parcel
from app.notifications.outbox import put_off, write_down
from app.notifications.site import site_of

POLL_SECONDS = 0.1
RETRY_SECONDS, LONGEST_RETRY = 1.0, 30.0
MOST_THREADS = 512
MOST_FAILING = MOST_THREADS // 2  # for receivers that failed last; the rest is for all others

Feed = Callable[[Session], object]  # brings deliveries about; true if it has
Feeds = Mapping[str, Feed]
Came = tuple[Parcel, Outcome | None]  # None: it was not tried


class Sender(threading.Thread):
    """Delivers until it is stopped. `feeds` are asked first, each in a session of its own.

    Nothing that one step of it, one feed or one delivery raises keeps the others waiting.
    """

    def __init__(self, engine: Engine, settings: Settings, feeds: Feeds = MappingProxyType({})) -> None:
        super().__init__(name="sender", daemon=True)
        self.engine, self.settings, self.feeds = engine, settings, feeds
        self.steps = ErrorBoundary(
            "deliveries", first_seconds=RETRY_SECONDS, max_seconds=LONGEST_RETRY, max_outages=inf
        )
        self.errors = ErrorBoundary("single deliveries")
        self.site = site_of(settings)
        self.who = secrets.token_hex(8)
        self.lanes: dict[int, Lane] = {}
        self.held: set[int] = set()  # ids of deliveries between being taken and being written down
        self.outcomes: queue.SimpleQueue[Came] = queue.SimpleQueue()
        self.unkept: list[Came] = []
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            if not self.turn():
                self.listen(POLL_SECONDS)

    def turn(self) -> bool:
        """Write down, bring about, take; whether there was anything."""
        moved = bool(self.steps.run("keep", self.keep))
        for name, feed in self.feeds.items():
            moved |= bool(self.steps.run(name, self.ask, feed))
        return bool(self.steps.run("take", self.take)) or moved

    def ask(self, feed: Feed) -> bool:
        with Session(self.engine) as session:
            return bool(feed(session))

    def listen(self, seconds: float) -> None:
        """Wait for the next outcome, but not for long: something may have come due."""
        try:
            self.unkept.append(self.outcomes.get(timeout=seconds))
        except queue.Empty:
            return

    def stop(self, seconds: float) -> None:
        """Take nothing more, and write down what comes within `seconds`. The rest will be sent again."""
        self.ended.set()
        until = time.monotonic() + seconds
        for lane in list(self.lanes.values()):
            lane.is_spoiled = True
        self.join(seconds)
        while self.held and time.monotonic() < until:
            self.listen(POLL_SECONDS)
            self.steps.run("keep", self.keep)

    # --- what came back

    def keep(self) -> bool:
        """Write down what came of all that was tried. What only an outage kept from it stays."""
        self.unkept += [self.outcomes.get() for _ in range(self.outcomes.qsize())]
        self.unkept += [(parcel, None) for lane in self.lanes.values() for parcel in lane.give_back()]
        if not self.unkept:
            return False
        failed = self.errors.each(list(self.unkept), self.store, key=lambda came: came[0].id)
        for came, error in failed:
            if not is_outage(error):
                with self.errors.attempt(), Session(self.engine) as session:
                    put_off(session, came[0].id)
                self.forget([came])  # where even that has failed, it is free again when its lease ends
        return not failed

    def store(self, some: Sequence[Came]) -> None:
        with Session(self.engine) as session:
            begin_write(session)
            write_down(session, self.who, [(parcel.id, parcel.handler_id, came) for parcel, came in some])
            session.commit()
        self.forget(some)

    def forget(self, some: Sequence[Came]) -> None:
        self.held -= {parcel.id for parcel, _ in some}
        over = {id(came) for came in some}
        self.unkept = [came for came in self.unkept if id(came) not in over]

    # --- what goes out

    def take(self) -> bool:
        """Claim what is due and there is room for, and have it sent."""
        if self.threads() >= MOST_THREADS:
            return False
        full = [handler_id for handler_id, lane in self.lanes.items() if not lane.room()]
        is_crowded = self.threads(failing=True) >= MOST_FAILING
        with Session(self.engine) as session:
            found = waiting.find(session, moment(), full, only_healthy=is_crowded)
            ids = self.chosen(found)
            parcels = waiting.take(session, ids, self.who, self.site, self.errors) if ids else []
        self.held |= {parcel.id for parcel in parcels}
        self.send(parcels)
        return bool(parcels)

    def threads(self, *, failing: bool = False) -> int:
        return sum(lane.threads for lane in self.lanes.values() if lane.is_failing or not failing)

    def chosen(self, found: Sequence[waiting.Found]) -> list[int]:
        """As many of each handler as its lane has room for."""
        rooms: dict[int, int] = {}
        ids = []
        for one in found:
            lane = self.lanes.setdefault(one.handler_id, Lane(is_failing=one.is_failing))
            room = rooms.setdefault(one.handler_id, lane.room())
            if room and one.id not in self.held:
                ids.append(one.id)
                rooms[one.handler_id] = room - 1
        return ids

    def send(self, parcels: Sequence[Parcel]) -> None:
        by_handler: dict[int, list[Parcel]] = defaultdict(list)
        for parcel in parcels:
            by_handler[parcel.handler_id].append(parcel)
        for handler_id, some in by_handler.items():
            lane = self.lanes[handler_id]
            for _ in range(lane.add(some)):
                with self.errors.attempt() as started:
                    threading.Thread(target=self.work, args=(lane,), name="send", daemon=True).start()
                if started.error is not None:
                    lane.lose_thread()

    def work(self, lane: Lane) -> None:
        """The life of a thread that sends: what its lane has, one after the other."""
        while parcel := lane.next():
            outcome = attempt(
                parcel.type, parcel.fields, parcel.message, Door(self.settings), refusal=parcel.refusal
            )
            lane.learn(is_delivered=outcome.is_delivered)
            self.outcomes.put((parcel, outcome))
