"""How is everything that waits delivered, many at once, so that none waits for another's receiver?

One thread talks to the database: it takes what is due, writes down what came of it, and starts the threads
that send. A process that is killed leaves leases behind, and whoever comes next goes on when they end.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.claims import moment
from app.config import Settings
from app.database import begin_write
from app.notifications import waiting
from app.notifications.delivery import Outcome, attempt
from app.notifications.door import Door
from app.notifications.lanes import Lane, Parcel
from app.notifications.outbox import write_down
from app.notifications.site import site_of

POLL_SECONDS = 0.1
RETRY_SECONDS = 1.0
MOST_THREADS = 512
MOST_FAILING = MOST_THREADS // 2  # for receivers that failed last; the rest is for all others

Feed = Callable[[Session], object]  # brings deliveries about; true if it has
Came = tuple[Parcel, Outcome | None]  # None: it was not tried

log = logging.getLogger(__name__)


class Sender(threading.Thread):
    """Delivers until it is stopped. `feeds` are asked first, each in a session of its own."""

    def __init__(self, engine: Engine, settings: Settings, feeds: Sequence[Feed] = ()) -> None:
        super().__init__(name="sender", daemon=True)
        self.engine, self.settings, self.feeds = engine, settings, feeds
        self.site = site_of(settings)
        self.who = secrets.token_hex(8)
        self.lanes: dict[int, Lane] = {}
        self.held: set[int] = set()  # ids of deliveries between being taken and being written down
        self.outcomes: queue.SimpleQueue[Came] = queue.SimpleQueue()
        self.unkept: list[Came] = []
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            if not self.tried(self.turn):
                self.listen(POLL_SECONDS)

    def tried(self, step: Callable[[], bool]) -> bool:
        """A database that does not answer is waited for; nothing that came is forgotten meanwhile."""
        try:
            return step()
        except (SQLAlchemyError, OSError, self.engine.dialect.loaded_dbapi.Error) as error:
            log.warning("Deliveries wait: %s", str(error).partition("\n")[0])
        except Exception:  # a mistake of ours must not end all deliveries in silence
            log.exception("Deliveries wait")
        self.ended.wait(RETRY_SECONDS)
        return False

    def turn(self) -> bool:
        """Write down, bring about, take; whether there was anything."""
        moved = self.keep()
        for feed in self.feeds:
            with Session(self.engine) as session:
                moved |= bool(feed(session))
        return self.take() or moved

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
            self.tried(self.keep)

    # --- what came back

    def keep(self) -> bool:
        """Write down what came of all that was tried, in one transaction."""
        self.unkept += [self.outcomes.get() for _ in range(self.outcomes.qsize())]
        self.unkept += [(parcel, None) for lane in self.lanes.values() for parcel in lane.give_back()]
        if not self.unkept:
            return False
        with Session(self.engine) as session:
            begin_write(session)
            write_down(
                session, self.who, [(parcel.id, parcel.handler_id, came) for parcel, came in self.unkept]
            )
            session.commit()
        self.held -= {parcel.id for parcel, _ in self.unkept}
        self.unkept = []
        return True

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
            parcels = waiting.take(session, ids, self.who, self.site) if ids else []
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
                threading.Thread(target=self.work, args=(lane,), name="send", daemon=True).start()

    def work(self, lane: Lane) -> None:
        """The life of a thread that sends: what its lane has, one after the other."""
        while parcel := lane.next():
            outcome = attempt(
                parcel.type, parcel.fields, parcel.message, Door(self.settings), refusal=parcel.refusal
            )
            lane.learn(is_delivered=outcome.is_delivered)
            self.outcomes.put((parcel, outcome))
