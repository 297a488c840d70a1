"""One step of a handler through the feed: a page is read, and its messages and its end are stored together.

So each event is told exactly once: a step that is killed has stored nothing, and of two workers with the same
page the second finds that the place has moved.
"""

# see docs/decisions/2026-11-25-pushed-events.md
from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from app.core.clock import format_utc
from app.core.database import begin_write
from app.core.leases import LEASE, precise_now
from app.events.feed.cursors import CursorGone
from app.events.feed.reading import FeedPage, read
from app.events.push.links import FeedEvent, of_handler
from app.events.push.messages import MAX_BYTES, messages_of
from app.events.push.summary import add_to, data_of
from app.events.types import CLICKED
from app.notifications.click_filter import ClickFilter
from app.notifications.event_types import OF_FEED, told_types
from app.notifications.feed_words import SKIPPED, SUMMARY
from app.notifications.models import PENDING, ClickNumber, Delivery, EventCursor, NotificationHandler
from app.notifications.outbox import PATIENCE, deliver
from app.notifications.site import SiteUrls
from app.notifications.transport import all_transports

PAGE_SIZE = 200  # two batches: what a page holds is worked on in one go
MAX_WAITING = 200  # deliveries of one handler that wait: beyond that the feed is its queue
MAX_LOGGED = 1000  # deliveries of clicks that are kept in a handler's log
BATCH_SECONDS = 1.0  # between two batches of clicks that are not full
SUMMARY_SECONDS = 60.0
FULL_SECONDS = 5.0  # until there may be room again
MAX_AGE = PATIENCE  # of an event that is told, as old as a handler may be that has failed all the time


class StepEnd(Enum):
    """How far a handler is after a step: it has all of the feed, there is more, or it has to wait."""

    ALL = "all"
    MORE = "more"
    LATER = "later"


@dataclass(frozen=True)
class Follower:
    """A handler's place in the feed that this worker has claimed, with what of a page it is told."""

    session: Session
    handler: NotificationHandler
    place: EventCursor
    site: SiteUrls

    @property
    def types(self) -> frozenset[str]:
        return OF_FEED & frozenset(told_types(self.handler.events))

    @property
    def is_program(self) -> bool:
        return all_transports()[self.handler.type].takes_batches

    @property
    def pause(self) -> float:
        """Seconds between two messages that are not full."""
        return BATCH_SECONDS if self.is_program else SUMMARY_SECONDS

    def room(self) -> int:
        """For how many more deliveries the outbox has room."""
        waits = Delivery.handler_id == self.handler.id, Delivery.due.is_not(None)
        waiting = self.session.scalar(select(func.count()).select_from(Delivery).where(*waits)) or 0
        return max(0, MAX_WAITING - waiting)

    def page(self, limit: int) -> FeedPage:
        """The next events. Raises CursorGone."""
        return read(
            self.session,
            self.site,
            self.handler.workspace_id,
            self.place.cursor,
            types=self.types,
            link_id=self.handler.link_id,
            limit=limit,
        )


def step(session: Session, id_: int, who: str, site: SiteUrls) -> StepEnd:
    """Go on by one page for the handler with this id, whose place `who` has claimed. Commits."""
    found = reader_of(session, id_, site)
    if found is None:
        return StepEnd.LATER
    if not (room := found.room()):
        release(session, id_, who, FULL_SECONDS)
        return StepEnd.LATER
    is_of_batches = found.types == {CLICKED} or not found.is_program
    cursor = found.place.cursor
    try:
        page = found.page(PAGE_SIZE if is_of_batches else min(room, PAGE_SIZE))
    except CursorGone as gone:
        page = FeedPage([], gone.oldest, is_more=True)
        return store_page(session, id_, who, cursor, page, site, is_lost=True)
    return store_page(session, id_, who, cursor, page, site)


def reader_of(session: Session, id_: int, site: SiteUrls) -> Follower | None:
    """The handler and its place; None where it gets nothing of the feed any more, and has no place then."""
    handler, place = session.get(NotificationHandler, id_), session.get(EventCursor, id_)
    if handler is None or place is None:
        return None
    found = Follower(session, handler, place, site)
    if found.types:
        return found
    session.rollback()
    begin_write(session)
    session.execute(delete(EventCursor).where(EventCursor.id == id_))
    session.commit()
    return None


def store_page(
    session: Session,
    id_: int,
    who: str,
    cursor: str,
    page: FeedPage,
    site: SiteUrls,
    *,
    is_lost: bool = False,
) -> StepEnd:
    """Write the messages of a page, and move the place to its end, in one transaction.

    `is_lost`: what lies before the page is not kept any more.
    """
    session.rollback()
    begin_write(session)
    found = claimed_reader(session, id_, who, cursor, site)
    if found is None:
        session.rollback()
        return StepEnd.LATER
    place, chosen = found.place, chosen_of(found, page.events)
    fresh, stale = by_age(chosen)
    if stale or is_lost:
        place.skipped = add_skipped(place.skipped, stale, page.next, is_lost=is_lost)
    is_told = tell_skipped(found) if fresh or not page.is_more else False
    is_told |= tell_program(found, fresh) if found.is_program else tell_people(found, fresh, page)
    place.cursor, place.planned = page.next, precise_now()
    if page.is_more:
        place.lease = precise_now() + LEASE
    else:
        place.lease = place.who = None
        place.due = precise_now() + dt.timedelta(seconds=found.pause if is_told else 0.0)
    session.commit()
    return StepEnd.MORE if page.is_more else StepEnd.ALL


def claimed_reader(session: Session, id_: int, who: str, cursor: str, site: SiteUrls) -> Follower | None:
    """The reader again, its place locked; None where another worker has it, or has moved it meanwhile."""
    mine = EventCursor.id == id_, EventCursor.who == who, EventCursor.cursor == cursor
    place = session.scalar(select(EventCursor).where(*mine).with_for_update())
    handler = session.get(NotificationHandler, id_)
    return Follower(session, handler, place, site) if handler is not None and place is not None else None


def release(session: Session, id_: int, who: str, seconds: float = 0.0) -> None:
    """Give the place back, to be taken again after so many seconds. Commits."""
    session.rollback()
    begin_write(session)
    moment = precise_now()
    values = {"due": moment + dt.timedelta(seconds=seconds), "planned": moment, "lease": None, "who": None}
    mine = EventCursor.id == id_, EventCursor.who == who
    session.execute(update(EventCursor).where(*mine).values(values))
    session.commit()


def chosen_of(found: Follower, events: Sequence[FeedEvent]) -> Sequence[FeedEvent]:
    """The events of a page that the handler is told of. Counts clicks where their numbers decide."""
    mine = of_handler(found.session, found.handler, events)
    click_filter = ClickFilter.of(found.handler.click_filter)
    clicks = [event["data"] for event in mine if event["type"] == CLICKED]
    numbers: dict[int, int] = {}
    if click_filter.counts:
        numbers = numbers_of(found, {click["link"]["id"] for click in clicks if click_filter.takes(click)})
    before = dict(numbers)
    passed = {click["id"] for click in click_filter.select(clicks, numbers)}
    store_numbers(found, {link: number for link, number in numbers.items() if before.get(link) != number})
    return [event for event in mine if event["type"] != CLICKED or event["data"]["id"] in passed]


def numbers_of(found: Follower, link_ids: set[int]) -> dict[int, int]:
    mine = ClickNumber.handler_id == found.handler.id, ClickNumber.link_id.in_(link_ids)
    rows = found.session.execute(select(ClickNumber.link_id, ClickNumber.number).where(*mine))
    return dict(rows.all())


def store_numbers(found: Follower, numbers: Mapping[int, int]) -> None:
    if not numbers:
        return
    insert = sqlite.insert if found.session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(ClickNumber)
    wanted = row.on_conflict_do_update(
        index_elements=["handler_id", "link_id"], set_={"number": row.excluded.number}
    )
    id_ = found.handler.id
    rows = [{"handler_id": id_, "link_id": link, "number": number} for link, number in numbers.items()]
    found.session.execute(wanted, rows)


# --- messages


def tell_program(found: Follower, events: Sequence[FeedEvent]) -> bool:
    """Write a delivery for each message; returns whether there is any."""
    has_template = "webhook_template" in found.handler.settings
    messages = messages_of(events, max_bytes=MAX_BYTES if has_template else None)
    for message in messages:
        deliver(found.session, found.handler.id, message.type, message.data, message.datetime)
    if messages:
        cut_log(found.session, found.handler.id)
    return bool(messages)


def cut_log(session: Session, handler_id: int) -> None:
    """Delete deliveries of clicks that are done, beyond a handler's newest ones: there may be 20 a second."""
    session.flush()
    mine = Delivery.handler_id == handler_id
    oldest = select(Delivery.id).where(mine).order_by(Delivery.id.desc()).offset(MAX_LOGGED).limit(1)
    is_over = Delivery.type == CLICKED, Delivery.status != PENDING, Delivery.id <= oldest.scalar_subquery()
    session.execute(delete(Delivery).where(mine, *is_over), execution_options={"synchronize_session": False})


def tell_people(found: Follower, events: Sequence[FeedEvent], page: FeedPage) -> bool:
    """Add the events to the summary, and send that after the last page. Returns whether it was sent."""
    place = found.place
    place.summary = add_to(place.summary, events)
    if place.summary is None or page.is_more:
        return False
    deliver(found.session, found.handler.id, SUMMARY, data_of(place.summary))
    place.summary = None
    return True


def by_age(events: Sequence[FeedEvent]) -> tuple[Sequence[FeedEvent], Sequence[FeedEvent]]:
    """The events that are young enough to be told, and those that are not."""
    oldest = format_utc(precise_now() - MAX_AGE) or ""
    fresh = [event for event in events if event["datetime"] >= oldest]
    return fresh, [event for event in events if event["datetime"] < oldest]


def add_skipped(
    skipped: Mapping[str, Any] | None, events: Sequence[FeedEvent], after: str, *, is_lost: bool
) -> dict[str, Any]:
    """What was skipped so far, with these events. How many were lost is not known, so neither is the sum.

    `after`: from where the API has all that comes later; it has what was skipped, too, as long as it is kept.
    """
    known = skipped or {"skipped": 0, "clicks": 0}
    if is_lost or known["skipped"] is None:
        return {"skipped": None, "clicks": None, "after": after}
    clicks = sum(event["type"] == CLICKED for event in events)
    return {"skipped": known["skipped"] + len(events), "clicks": known["clicks"] + clicks, "after": after}


def tell_skipped(found: Follower) -> bool:
    """Send what was skipped, if anything; returns whether there was."""
    place = found.place
    if place.skipped is None:
        return False
    deliver(found.session, found.handler.id, SKIPPED, place.skipped)
    place.skipped = None
    return True
