"""The sequencer: gives drafts of events their places in the feed, and makes of them what is told.

On SQLite the two tables are in two files, and no transaction spans both. So an event is added under an id
that is unique there, and its draft goes afterwards: what is killed in between is done again, and adds
nothing. Any number of sequencers may run at once.
"""

# see docs/decisions/2026-11-25-events-feed.md
from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import Any

from sqlalchemy import Engine, delete, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.orm import Session

from app.accounts.models import Workspace
from app.analytics.engine import open_engine
from app.core.clock import format_utc
from app.core.config import Settings
from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.core.poll_loop import LONGEST_SECONDS, quiet_database
from app.core.wakeups import EVENTS, WokenLoop
from app.events.entries import ENTRIES, NewEntry, add_events
from app.events.models import EventDraft
from app.events.types import DELETED, MOVED, PURGED, RESTORED
from app.links.clicks import clicks_of
from app.links.history import PICTURES
from app.notifications.site import SiteUrls, site_of

BATCH_SIZE = 200
POLL_SECONDS = 0.1
LOOK_SECONDS = 0.2  # between two looks at SQLite's file, where nothing is going on
DUE_SECONDS = 10.0  # nothing comes due by time; a turn without news is for what another one left
IDLE_POLL_SECONDS = 1.0  # where wake-ups arrive
RETRY_SECONDS = 1.0


class Sequencer(WokenLoop):
    """Moves drafts to the feed until it is stopped."""

    topic = EVENTS

    def __init__(self, engine: Engine, settings: Settings) -> None:
        quiet = quiet_database(engine, DUE_SECONDS)
        errors = ErrorBoundary("events of the feed", max_outages=inf)
        longest = LOOK_SECONDS if quiet else LONGEST_SECONDS
        super().__init__(
            "sequencer", POLL_SECONDS, errors, RETRY_SECONDS, quiet=quiet, longest_seconds=longest
        )
        self.engine, self.settings, self.site = engine, settings, site_of(settings)
        self.clicks: Engine | None = None

    def run(self) -> None:
        try:
            super().run()
        finally:
            if self.clicks is not None:
                self.clicks.dispose()

    def rest(self, seconds: float) -> None:
        super().rest(IDLE_POLL_SECONDS if self.hears and not self.ended.is_set() else seconds)

    def turn(self) -> bool:
        if self.clicks is None:
            self.clicks = open_engine(self.settings)
        with Session(self.engine) as session:
            # what comes meanwhile can wait for others: a turn takes about as long for one draft as for twenty
            return sequence(session, self.clicks, self.site) == BATCH_SIZE


def sequence(session: Session, clicks: Engine, site: SiteUrls) -> int:
    """Moves the oldest drafts to the feed; returns how many."""
    drafts = session.scalars(select(EventDraft).order_by(EventDraft.id).limit(BATCH_SIZE)).all()
    if not drafts:
        return 0
    ids = [draft.id for draft in drafts]
    there = existing_workspaces(session, {draft.workspace_id for draft in drafts})
    counts = clicks_of([draft.link_id for draft in drafts], session)
    moved = [draft for draft in drafts if draft.workspace_id in there]
    entries = [entry_of(draft, counts[draft.link_id], site) for draft in moved if draft.type != PURGED]
    purged = [draft.link_id for draft in moved if draft.type == PURGED]
    session.rollback()
    with clicks.begin() as connection:
        if entries:
            add_events(connection, entries)
        if purged:
            forget_changes(connection, purged)
    begin_write(session)
    session.execute(delete(EventDraft).where(EventDraft.id.in_(ids)))
    session.commit()
    return len(ids)


def existing_workspaces(session: Session, ids: Collection[int]) -> set[int]:
    """Of one that is purged nothing may be told any more."""
    return set(session.scalars(select(Workspace.id).where(Workspace.id.in_(ids))))


def entry_of(draft: EventDraft, clicks: int, site: SiteUrls) -> NewEntry:
    if draft.type == MOVED:
        moved = draft.workspace_id, MOVED, draft.event_id
        return NewEntry(*moved, None, None, draft.origin or "", draft.origin_before)
    has_moved = (draft.url, draft.origin) != (draft.url_before, draft.origin_before)
    is_noted = has_moved or draft.type in {DELETED, RESTORED}
    return NewEntry(
        draft.workspace_id,
        draft.type,
        draft.event_id,
        draft.link_id,
        json.dumps(event_of(draft, clicks, site), ensure_ascii=False, separators=(",", ":")),
        draft.url_before if is_noted else None,
        draft.origin_before if is_noted else None,
    )


def event_of(draft: EventDraft, clicks: int, site: SiteUrls) -> dict[str, Any]:
    link = {
        "id": draft.link_id,
        "url": draft.url,
        "short_url": site.short_url(draft.url, draft.origin),
        "location_url": draft.location_url,
        "clicks": clicks,
    }
    data = {"link": link, **draft.data}
    if "changes" in data:
        data["changes"] = with_pictures(data["changes"], site)
    return {"id": draft.event_id, "type": draft.type, "datetime": format_utc(draft.datetime), "data": data}


def with_pictures(changes: Mapping[str, Sequence[Any]], site: SiteUrls) -> dict[str, Any]:
    """Changes with the addresses of pictures, as the API shows them, in place of their files' names."""
    return {
        name: [value and f"{site.links}/media/{value}" for value in both] if name in PICTURES else both
        for name, both in changes.items()
    }


def forget_changes(connection: Connection, links: Collection[int]) -> None:
    """Removes what is told of links that are gone for good, but for their deletion: without a destination."""
    mine = ENTRIES.c.link_id.in_(links)
    connection.execute(delete(ENTRIES).where(mine, ENTRIES.c.type != DELETED))
    left = select(ENTRIES.c.position, ENTRIES.c.content).where(mine, ENTRIES.c.type == DELETED)
    for position, content in connection.execute(left).all():
        event = json.loads(content)
        event["data"]["link"]["location_url"] = None
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        connection.execute(update(ENTRIES).where(ENTRIES.c.position == position).values(content=text))
