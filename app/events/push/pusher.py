"""The worker's thread that turns the feed of events into deliveries, handler by handler."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine, and_, select
from sqlalchemy.orm import Session

from app.accounts.models import Workspace
from app.core.config import Settings
from app.core.database import begin_write, clicks_path
from app.core.error_boundary import ErrorBoundary
from app.core.leases import claim, is_due, is_free, precise_now
from app.core.poll_loop import Quiet
from app.core.wakeups import EVENTS, WokenLoop
from app.events.feed.reading import newest_cursor, newest_position
from app.events.push.steps import StepEnd, release, step
from app.notifications.event_types import takes_feed
from app.notifications.models import EventCursor, NotificationHandler
from app.notifications.site import site_of
from app.notifications.subscribed import may_receive

POLL_SECONDS = 0.1
LONGEST_SECONDS = 0.5
RETRY_SECONDS = 1.0
LOOK_SECONDS = 5.0  # a turn at least so often, for handlers that were restored
FOLLOW_TURNS = 10  # between two looks for handlers without a place, such as restored ones
BATCH_SIZE = 200  # places that are claimed together
WORKSPACE_PLACES = 10  # of one workspace in a turn
MAX_PAGES = 4  # of one handler, before the next has its turn


class PlaceState(NamedTuple):
    """A handler's place by the handler's id, and whether it is due and claimed by no worker."""

    id: int
    workspace_id: int
    is_ready: bool


class EventPusher(WokenLoop):
    """Reads the feed for each handler that is told of its events, until it is stopped.

    A handler is read for again when the feed has grown, and not before its place is due: that makes batches
    and summaries. An error of one handler does not hold up the others.
    """

    topic = EVENTS

    def __init__(self, engine: Engine, settings: Settings) -> None:
        errors = ErrorBoundary("pushed events", first_seconds=RETRY_SECONDS, max_outages=inf)
        files = files_of(engine, settings) if settings.is_sqlite else []
        quiet = Quiet(lambda: files, LOOK_SECONDS) if files else None
        super().__init__(
            "pushed events", POLL_SECONDS, errors, RETRY_SECONDS, quiet=quiet, longest_seconds=LONGEST_SECONDS
        )
        self.engine, self.site = engine, site_of(settings)
        self.errors = ErrorBoundary("events of single handlers")
        self.who = secrets.token_hex(8)
        self.turns = 0
        self.is_waiting = False
        self.seen: dict[int, int] = {}  # the end of the feed when a handler had all of it

    def is_quiet(self) -> bool:
        """No turn is left out while a handler waits for its time: nothing is written when that comes."""
        return not self.is_waiting and super().is_quiet()

    def turn(self) -> bool:
        """Go on for each handler whose turn it is. Returns whether there may be more at once."""
        with Session(self.engine) as session:
            if self.turns % FOLLOW_TURNS == 0:
                self.follow_all(session)
            self.turns += 1
            position = newest_position(session)
            places = find_places(session)
            behind = [place for place in places if self.seen.get(place.id) != position]
            ready = [place for place in behind if place.is_ready]
            chosen = choose_places(ready)
            outcomes = {id_: self.read_for(session, id_) for id_ in self.take(session, chosen)}
        ends = self.seen | {id_: position for id_, outcome in outcomes.items() if outcome is StepEnd.ALL}
        self.seen = {place.id: ends[place.id] for place in places if place.id in ends}
        self.is_waiting = any(outcomes.get(place.id) is not StepEnd.ALL for place in behind)
        return StepEnd.MORE in outcomes.values() or (len(ready) > len(chosen) and bool(outcomes))

    def take(self, session: Session, ids: Sequence[int]) -> list[int]:
        session.rollback()
        if not ids or self.ended.is_set():
            return []
        begin_write(session)
        taken = claim(session, EventCursor, ids, self.who, precise_now())
        session.commit()
        return taken

    def read_for(self, session: Session, id_: int) -> StepEnd:
        """Read some pages for a handler whose place is taken."""
        outcome = StepEnd.LATER
        with self.errors.attempt(id_) as made:
            for _ in range(MAX_PAGES):
                outcome = step(session, id_, self.who, self.site)
                if outcome is not StepEnd.MORE or self.ended.is_set():
                    break
            if outcome is StepEnd.MORE:
                release(session, id_, self.who)
        if made.error is not None:
            with self.errors.attempt():
                release(session, id_, self.who, made.seconds)
            session.rollback()
            return StepEnd.LATER
        return outcome

    def follow_all(self, session: Session) -> None:
        """Give a place, at the end of the feed, to each handler that should have one."""
        missing = (
            select(NotificationHandler.id, NotificationHandler.workspace_id, NotificationHandler.events)
            .outerjoin(EventCursor, EventCursor.id == NotificationHandler.id)
            .where(NotificationHandler.is_enabled, NotificationHandler.events.is_not(None))
            .where(EventCursor.id.is_(None))
        )
        found = [row for row in session.execute(missing).all() if takes_feed(row.events)]
        for row in found:
            with self.errors.attempt():
                cursor = newest_cursor(session, row.workspace_id)
                session.rollback()
                begin_write(session)
                session.add(EventCursor(id=row.id, cursor=cursor, due=precise_now()))
                session.commit()
            session.rollback()


def choose_places(ready: Sequence[PlaceState]) -> list[int]:
    """The ids of the places to read for in a turn: a few of each workspace."""
    numbers = Counter[int]()
    chosen = []
    for place in ready:
        if numbers[place.workspace_id] < WORKSPACE_PLACES:
            numbers[place.workspace_id] += 1
            chosen.append(place.id)
    return chosen[:BATCH_SIZE]


def files_of(engine: Engine, settings: Settings) -> list[Path]:
    """The files of SQLite that change when the feed or a handler does."""
    files = str(engine.url.database), str(clicks_path(settings))
    return [Path(f"{file}{end}") for file in files for end in ("", "-wal")]


def find_places(session: Session) -> Sequence[PlaceState]:
    """The places of handlers that may be sent to; those that are due longest first."""
    now = precise_now()
    takes = (
        NotificationHandler.is_enabled,
        NotificationHandler.is_confirmed,
        Workspace.deleted_datetime.is_(None),
        may_receive(),
    )
    places = (
        select(EventCursor.id, Workspace.id, and_(is_due(EventCursor, now), is_free(EventCursor, now)))
        .join(NotificationHandler, NotificationHandler.id == EventCursor.id)
        .join(Workspace, Workspace.id == NotificationHandler.workspace_id)
        .where(*takes)
        .order_by(EventCursor.due)
    )
    return [PlaceState(id_, owner, bool(is_ready)) for id_, owner, is_ready in session.execute(places)]
