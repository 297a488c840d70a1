"""Reads the feed backwards, newest first, for people: a page of what came before a cursor."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from app.core.database import AnySession
from app.events.drafts import DRAFTS
from app.events.feed.clicks import BatchClicks
from app.events.feed.cursors import Cursor
from app.events.feed.entry_reader import FeedFilter, read_backward
from app.events.feed.reading import (
    CHUNK,
    MAX_BYTES,
    MAX_ENTRIES,
    Event,
    choose_rows,
    find_place,
    read_contents,
    read_state,
)
from app.events.types import CLICKED
from app.notifications.site import SiteUrls


class OlderPage(NamedTuple):
    """Events, newest first, and the cursor before which older ones may be; None where there are none."""

    events: list[Event]
    older: str | None


def read_older(
    session: AnySession,
    site: SiteUrls,
    wanted: FeedFilter,
    before: str | None,
    *,
    limit: int,
    is_wanted: Callable[[Event], bool] = lambda _event: True,
) -> OlderPage:
    """The last events before a cursor; without one, the newest. Raises CursorGone, StatisticsUnavailable."""
    session.execute(select(DRAFTS.c.id).limit(1))  # the main database first, as `reading.read` does
    state = read_state(session)
    place = Cursor(wanted.workspace_id, state.last + 1)
    if before is not None:
        place = find_place(before, wanted.workspace_id, state)
    events: list[Event] = []
    shown, looked = place, 0
    while looked < MAX_ENTRIES:
        last = place.position if place.offset else place.position - 1
        rows = read_backward(session, wanted, state.first, last, min(CHUNK, limit))
        if not rows:
            return OlderPage(events, None)
        chosen = choose_rows(rows, limit + 1 - len(events), MAX_BYTES)
        for found, event in events_of(session, site, wanted, chosen, place):
            place = found
            if event is None:
                looked += 1
            elif is_wanted(event):
                if len(events) == limit:
                    return OlderPage(events, str(shown))
                events.append(event)
                shown = found
    return OlderPage(events, str(place))


def events_of(
    session: AnySession, site: SiteUrls, wanted: FeedFilter, rows: Sequence[Any], place: Cursor
) -> Iterator[tuple[Cursor, Event | None]]:
    """The events of entries, newest first, each with the cursor before it; None after each entry's last."""
    contents = read_contents(session, [row.position for row in rows if row.size])
    batches = [row for row in rows if row.type == CLICKED]
    clicks = BatchClicks(session, site, wanted, batches, Cursor(wanted.workspace_id, 0))
    for row in rows:
        start = Cursor(wanted.workspace_id, row.position)
        if row.position in contents:
            yield start, json.loads(contents[row.position])
        for id_, event in reversed(clicks.events_of(row)):
            offset = id_ - row.first_id
            if row.position < place.position or offset < place.offset:
                yield start._replace(offset=offset), event
        yield start, None
