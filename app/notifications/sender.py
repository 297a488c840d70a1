"""The sender of deliveries: many at once, so that a slow receiver does not hold up others.

One thread talks to the database: it claims what is due, stores the results, and starts the threads that send.
A killed process leaves leases behind; the next sender takes its deliveries over when they expire.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from types import MappingProxyType

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from app.core.config import Settings
from app.core.counters import counters
from app.core.database import begin_write, is_outage
from app.core.error_boundary import ErrorBoundary
from app.core.leases import precise_now
from app.core.poll_loop import LONGEST_SECONDS, quiet_database
from app.core.tracing import tracing
from app.core.wakeups import OUTBOX, WokenLoop
from app.net.session import OutboundSession
from app.notifications import waiting
from app.notifications.delivery import AttemptResult, attempt
from app.notifications.handler_queue import ClaimedDelivery, HandlerQueue, Receiver
from app.notifications.outbox import put_off, write_down
from app.notifications.site import site_of

POLL_SECONDS = 0.1
LOOK_SECONDS = 0.2  # between two looks at SQLite's file, where nothing is going on
DUE_SECONDS = 5.0  # within which is sent what comes due by time alone
IDLE_POLL_SECONDS = 1.0  # where wake-ups arrive: then only what comes due by the clock waits so long
RETRY_SECONDS, LONGEST_RETRY = 1.0, 30.0
MAX_THREADS = 512
WORKSPACE_THREADS = MAX_THREADS // 8
HOST_THREADS = MAX_THREADS // 4  # many workspaces send to the host of a large service
MAX_FAILING = MAX_THREADS // 2  # for receivers whose last attempt failed; the rest is for all others

Feed = Callable[[Session], object]  # creates deliveries; true if it created some
Feeds = Mapping[str, Feed]
Came = tuple[ClaimedDelivery, AttemptResult | None]  # None: it was not tried


class Sender(WokenLoop):
    """Delivers until it is stopped. On each turn `feeds` run first, each in a session of its own.

    An error in one step, one feed or one delivery does not hold up the others.
    """

    topic = OUTBOX

    def __init__(self, engine: Engine, settings: Settings, feeds: Feeds = MappingProxyType({})) -> None:
        self.steps = ErrorBoundary(
            "deliveries", first_seconds=RETRY_SECONDS, max_seconds=LONGEST_RETRY, max_outages=inf
        )
        quiet = quiet_database(engine, DUE_SECONDS)
        longest = LOOK_SECONDS if quiet else LONGEST_SECONDS
        super().__init__("sender", POLL_SECONDS, self.steps, quiet=quiet, longest_seconds=longest)
        self.engine, self.settings, self.feeds = engine, settings, feeds
        self.errors = ErrorBoundary("single deliveries")
        self.site = site_of(settings)
        self.who = secrets.token_hex(8)
        self.queues: dict[int, HandlerQueue] = {}
        self.held: set[int] = set()  # ids of deliveries that are claimed and whose result is not stored yet
        # None: something new is in the outbox, from this machine or another
        self.outcomes: queue.SimpleQueue[Came | None] = queue.SimpleQueue()
        self.is_woken = False
        self.unkept: list[Came] = []

    def is_quiet(self) -> bool:
        """No turn is left out while anything is being sent: results come without a word in the database."""
        return not self.held and not self.unkept and self.outcomes.empty() and super().is_quiet()

    def turn(self) -> bool:
        """Store results, run the feeds, claim what is due. Returns whether there was anything to do."""
        moved = bool(self.steps.run("keep", self.keep))
        for name, feed in self.feeds.items():
            moved |= bool(self.steps.run(name, self.ask, feed))
        return bool(self.steps.run("take", self.take)) or moved

    def ask(self, feed: Feed) -> bool:
        with Session(self.engine) as session:
            return bool(feed(session))

    def rest(self, seconds: float) -> None:
        """Wait for the next result or wake-up, and not for long: something may have come due."""
        hears = self.hears and not self.ended.is_set()
        with suppress(queue.Empty):
            self.note(self.outcomes.get(timeout=IDLE_POLL_SECONDS if hears and not self.unkept else seconds))

    def wake(self) -> None:
        """End the rest, from any thread. Further calls until then change nothing."""
        if not self.is_woken:
            self.is_woken = True
            self.outcomes.put(None)

    def note(self, came: Came | None) -> None:
        if came is None:
            self.is_woken = False
        else:
            self.unkept.append(came)

    def stop(self, seconds: float | None = 0.0) -> None:
        """Claim nothing more, and store the results that arrive within `seconds`. The rest is sent again."""
        self.end()
        until = time.monotonic() + (seconds or 0.0)
        for handler_queue in list(self.queues.values()):
            handler_queue.is_spoiled = True
        super().stop(seconds)
        while self.held and time.monotonic() < until:
            self.rest(POLL_SECONDS)
            self.steps.run("keep", self.keep)

    # --- results

    def keep(self) -> bool:
        """Store the results of all attempts. Those that an outage kept from being stored stay for later."""
        for _ in range(self.outcomes.qsize()):
            self.note(self.outcomes.get())
        self.unkept += [
            (delivery, None)
            for handler_queue in self.queues.values()
            for delivery in handler_queue.give_back()
        ]
        if not self.unkept:
            return False
        failed = self.errors.each(list(self.unkept), self.store, key=lambda came: came[0].id)
        for came, error in failed:
            if not is_outage(error):
                with self.errors.attempt(), Session(self.engine) as session:
                    put_off(session, came[0].id)
                self.forget([came])  # where even that has failed, it can be claimed again when its lease ends
        return not failed

    def store(self, some: Sequence[Came]) -> None:
        with Session(self.engine) as session:
            begin_write(session)
            write_down(
                session, self.who, [(delivery.id, delivery.handler_id, came) for delivery, came in some]
            )
            session.commit()
        for _, outcome in some:
            if outcome is not None:
                counters.add("attempts delivered" if outcome.is_delivered else "attempts failed")
        self.forget(some)

    def forget(self, some: Sequence[Came]) -> None:
        self.held -= {delivery.id for delivery, _ in some}
        over = {id(came) for came in some}
        self.unkept = [came for came in self.unkept if id(came) not in over]

    # --- sending

    def take(self) -> bool:
        """Claim due deliveries, as many as there is room for, and send them."""
        shares = Shares(self.queues.values())
        full = [id_ for id_, one in self.queues.items() if not one.room() or shares.is_full(one.receiver)]
        is_crowded = self.threads(failing=True) >= MAX_FAILING
        with Session(self.engine) as session:
            found = waiting.find(session, precise_now(), full, only_healthy=is_crowded)
            self.open_queues(session, found)
            ids, planned = self.chosen(found, shares)
            claimed = waiting.take(session, ids, self.who, self.site, self.errors) if ids else []
        self.held |= {delivery.id for delivery in claimed}
        self.send(claimed, planned)
        return bool(claimed)

    def threads(self, *, failing: bool = False) -> int:
        return sum(
            handler_queue.threads
            for handler_queue in self.queues.values()
            if handler_queue.is_failing or not failing
        )

    def open_queues(self, session: Session, found: Sequence[waiting.DueDelivery]) -> None:
        """Open a queue for each handler that has none; one that is idle learns where its handler is now."""
        busy = {id_ for id_, one in self.queues.items() if one.threads}
        idle = {one.handler_id: one for one in found if one.handler_id not in busy}
        receivers = waiting.receivers_of(session, idle)
        for id_, one in idle.items():
            receiver = receivers[id_]
            self.queues.setdefault(id_, HandlerQueue(receiver, is_failing=one.is_failing)).receiver = receiver

    def chosen(
        self, found: Sequence[waiting.DueDelivery], shares: Shares
    ) -> tuple[list[int], Mapping[int, int]]:
        """The ids to claim, and how many threads to start for each handler.

        Workspaces take turns, the one with the fewest threads first. Each handler gets as many as its queue
        has room for, where it has a thread or its workspace and its host have a share left for one.
        """
        rooms, planned = dict[int, int](), Counter[int]()
        ids = []
        for one in in_turns(found, shares.workspaces):
            handler_queue = self.queues[one.handler_id]
            room = rooms.setdefault(one.handler_id, handler_queue.room())
            if not room or one.id in self.held:
                continue
            threads = handler_queue.threads + planned[one.handler_id]
            if threads < handler_queue.most_threads() and not shares.is_full(handler_queue.receiver):
                shares.use(handler_queue.receiver)
                planned[one.handler_id] += 1
            elif not threads:
                continue
            ids.append(one.id)
            rooms[one.handler_id] = room - 1
        return ids, planned

    def send(self, claimed: Sequence[ClaimedDelivery], planned: Mapping[int, int]) -> None:
        by_handler: dict[int, list[ClaimedDelivery]] = defaultdict(list)
        for delivery in claimed:
            by_handler[delivery.handler_id].append(delivery)
        for handler_id, some in by_handler.items():
            handler_queue = self.queues[handler_id]
            for _ in range(handler_queue.add(some, planned[handler_id])):
                with self.errors.attempt() as started:
                    threading.Thread(
                        target=self.work, args=(handler_queue,), name="send", daemon=True
                    ).start()
                if started.error is not None:
                    handler_queue.lose_thread()

    def work(self, handler_queue: HandlerQueue) -> None:
        """Send what a queue holds, one after the other. This is the body of a sending thread."""
        while delivery := handler_queue.next():
            outcome = self.attempt(delivery)
            handler_queue.learn(is_delivered=outcome.is_delivered)
            self.outcomes.put((delivery, outcome))

    def attempt(self, delivery: ClaimedDelivery) -> AttemptResult:
        name = f"delivery {delivery.type}"
        with tracing.span(
            name, {"waypost.handler_type": delivery.type, "waypost.attempt": delivery.tries + 1}
        ) as span:
            outcome = attempt(
                delivery.type,
                delivery.fields,
                delivery.message,
                OutboundSession(self.settings),
                refusal=delivery.refusal,
            )
            if outcome.status_code is not None:
                span.note({"http.response.status_code": outcome.status_code})
            if not outcome.is_delivered:
                span.fail("not delivered")
        return outcome


def in_turns(found: Sequence[waiting.DueDelivery], threads: Mapping[int, int]) -> list[waiting.DueDelivery]:
    """Due deliveries in the order in which workspaces take turns, each with so many threads in use."""
    turns = Counter(threads)
    numbered = []
    for one in found:
        numbered.append((one.is_failing, turns[one.workspace_id], one))
        turns[one.workspace_id] += 1
    return [one for *_, one in sorted(numbered, key=lambda row: row[:2])]


class Shares:
    """The threads that are in use, counted at one moment.

    One workspace, and one host, may use some of them at once. So receivers that hang, however many one
    workspace has, leave threads for what others send.
    """

    def __init__(self, queues: Iterable[HandlerQueue]) -> None:
        self.used = 0
        self.workspaces = Counter[int]()
        self.hosts = Counter[str]()
        for one in queues:
            self.use(one.receiver, one.threads)

    def use(self, receiver: Receiver, threads: int = 1) -> None:
        self.used += threads
        self.workspaces[receiver.workspace_id] += threads
        self.hosts[receiver.host] += threads

    def is_full(self, receiver: Receiver) -> bool:
        """Whether no thread may be started for this receiver.

        A workspace never uses more threads than are free, so that many slow ones still leave some.
        """
        most = min(WORKSPACE_THREADS, MAX_THREADS - self.used)
        return self.workspaces[receiver.workspace_id] >= most or self.hosts[receiver.host] >= HOST_THREADS
