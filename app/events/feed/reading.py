"""Reads the feed: pages of events from a cursor on, always the same ones in the same order.

Entries never change their places and none comes before another that was committed, so a page is what its
cursor and its filters say. Each read has its bounds, in events, entries and bytes.
"""

# see docs/decisions/2026-11-25-events-feed.md
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from app.core.database import AnySession
from app.events.drafts import DRAFTS
from app.events.entries import COUNTER, ENTRIES
from app.events.feed.clicks import BatchClicks
from app.events.feed.cursors import Cursor, CursorGone, read_cursor
from app.events.feed.entry_reader import FeedFilter, read_forward
from app.events.types import CLICKED
from app.notifications.site import SiteUrls

MAX_LIMIT = 1000
CHUNK = 200  # entries that are read at once
MAX_ENTRIES = 1000  # that a read looks at
MAX_BYTES = 4 * 1024 * 1024  # of a page; a single event may have more
MAX_OFFSET = 2**40

Event = dict[str, Any]


class FeedPage(NamedTuple):
    """Events, oldest first, the cursor to go on with, and whether there may be more right now."""

    events: list[Event]
    next: str
    is_more: bool


class FeedState(NamedTuple):
    """The last position of the feed, and the first that is kept."""

    last: int
    first: int


def read(
    session: AnySession,
    site: SiteUrls,
    workspace_id: int,
    after: str | None = None,
    *,
    types: frozenset[str] | None = None,
    link_id: int | None = None,
    limit: int = 100,
) -> FeedPage:
    """The next events after a cursor; without one, the oldest. Raises CursorGone, StatisticsUnavailable.

    Ends the session's transaction where it has to look anew.
    """
    wanted = FeedFilter(workspace_id, types, link_id)
    # the main database first: whatever the feed tells of it, as of here, is true of what is read later
    session.execute(select(DRAFTS.c.id).limit(1))
    reader = PageReader(session, site, wanted, limit)
    page = reader.read(after)
    if reader.is_missing_links:
        session.rollback()  # a link may have been made since
        session.execute(select(DRAFTS.c.id).limit(1))
        page = PageReader(session, site, wanted, limit).read(after)
    return page


def read_state(session: AnySession) -> FeedState:
    row = session.execute(select(COUNTER.c.position, COUNTER.c.horizon)).first()
    return FeedState(row.position, max(row.horizon, 1)) if row else FeedState(0, 1)


def newest_position(session: AnySession) -> int:
    """The last position of the feed: another one means that there are new events, of whichever workspace."""
    return read_state(session).last


def newest_cursor(session: AnySession, workspace_id: int) -> str:
    """The cursor after all events that there are."""
    return str(Cursor(workspace_id, read_state(session).last + 1))


def find_place(after: str | None, workspace_id: int, state: FeedState) -> Cursor:
    """The place of a cursor's text. Raises CursorGone."""
    if after is None:
        return Cursor(workspace_id, state.first)
    cursor = read_cursor(after)
    is_ours = cursor is not None and cursor.workspace_id == workspace_id and cursor.offset < MAX_OFFSET
    if cursor is None or not is_ours or not state.first <= cursor.position <= state.last + 1:
        raise CursorGone(str(Cursor(workspace_id, state.first)))
    return cursor


class PageReader:
    """Reads one page."""

    def __init__(self, session: AnySession, site: SiteUrls, wanted: FeedFilter, limit: int) -> None:
        self.session, self.site, self.wanted, self.limit = session, site, wanted, limit
        self.events: list[Event] = []
        self.bytes = self.entries = 0
        self.is_missing_links = False
        self.place = Cursor(wanted.workspace_id, 0)  # where to go on
        self.told = self.place  # where the last event ended

    def read(self, after: str | None) -> FeedPage:
        state = read_state(self.session)
        self.place = self.told = find_place(after, self.wanted.workspace_id, state)
        while self.has_room:
            chunk = min(CHUNK, MAX_ENTRIES - self.entries, self.limit - len(self.events))
            rows = read_forward(self.session, self.wanted, self.place.position, state.last, chunk)
            if not rows:
                end = self.place._replace(position=state.last + 1, offset=0)
                return FeedPage(self.events, str(self.told if self.events else end), is_more=False)
            self.take(rows)
        return FeedPage(self.events, str(self.place), is_more=self.place.position <= state.last)

    @property
    def has_room(self) -> bool:
        is_small = self.bytes < MAX_BYTES and self.entries < MAX_ENTRIES
        return is_small and len(self.events) < self.limit

    def take(self, rows: Sequence[Any]) -> None:
        """Adds the events of these entries, as far as there is room."""
        chosen = choose_rows(rows, self.limit - len(self.events), MAX_BYTES - self.bytes)
        contents = read_contents(self.session, [row.position for row in chosen if row.size])
        clicks = BatchClicks(
            self.session, self.site, self.wanted, [row for row in chosen if row.type == CLICKED], self.place
        )
        self.is_missing_links |= clicks.is_missing_links
        for row in chosen:
            self.entries += 1
            if row.type == CLICKED:
                self.add_clicks(row, clicks.events_of(row))
            else:
                self.add_event(row, contents.get(row.position))
            if not self.has_room:
                return

    def add_event(self, row: Any, content: str | None) -> None:
        self.place = self.after(row)
        if content is not None:
            self.bytes += len(content)
            self.events.append(json.loads(content))
            self.told = self.place

    def add_clicks(self, row: Any, found: Sequence[tuple[int, Event]]) -> None:
        for id_, event in found:
            self.events.append(event)
            is_last = id_ == found[-1][0]
            offset = id_ - row.first_id + 1
            self.told = self.after(row) if is_last else Cursor(self.place.workspace_id, row.position, offset)
            if not self.has_room:
                self.place = self.told
                return
        self.place = self.after(row)

    def after(self, row: Any) -> Cursor:
        return Cursor(self.wanted.workspace_id, row.position + 1)


def read_contents(session: AnySession, positions: Sequence[int]) -> dict[int, str]:
    found = select(ENTRIES.c.position, ENTRIES.c.content).where(ENTRIES.c.position.in_(positions))
    return dict(session.execute(found).all()) if positions else {}


def choose_rows(rows: Sequence[Any], room: int, size: int) -> Sequence[Any]:
    """As many entries as may fill a page with room for so many events and bytes: what is read beyond that is
    read in vain."""
    for number, row in enumerate(rows, 1):
        room, size = room - (row.clicks or 1), size - (row.size or 0)
        if room <= 0 or size <= 0:
            return rows[:number]
    return rows
