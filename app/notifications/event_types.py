"""Types of events that handlers are told of, and which of them they get unless their owner chooses."""

# see docs/decisions/2026-11-25-pushed-events.md
from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.events.types import (
    CLICKED,
    CREATED,
    DELETED,
    ENDED,
    FAILING,
    LIMIT_REACHED,
    RECOVERED,
    RESTORED,
    STARTED,
    UPDATED,
)
from app.i18n.messages import lazy_gettext as _l
from app.notifications.events import REPORT

CHANGES = (CREATED, UPDATED, DELETED, RESTORED)
# read from the feed of events; the others are delivered as they are raised
OF_FEED = frozenset({CLICKED, *CHANGES})

TYPES: Mapping[str, str] = {
    CLICKED: _l("Clicks"),
    LIMIT_REACHED: _l("Click limit reached"),
    STARTED: _l("Link started"),
    ENDED: _l("Link ended"),
    FAILING: _l("Destination failing"),
    RECOVERED: _l("Destination works again"),
    REPORT: _l("Report"),
    CREATED: _l("Link created"),
    UPDATED: _l("Link changed"),
    DELETED: _l("Link deleted"),
    RESTORED: _l("Link restored"),
}
DEFAULT: Sequence[str] = tuple(type_ for type_ in TYPES if type_ not in OF_FEED)

ATTACHED, WORKSPACE = "attached", "workspace"
SCOPES: Mapping[str, str] = {
    ATTACHED: _l("Links that notify this handler"),
    WORKSPACE: _l("All links of the workspace"),
}


def told_types(events: Sequence[str] | None) -> Sequence[str]:
    """The types that a handler is told of, by its column `events`."""
    return DEFAULT if events is None else events


def takes_feed(events: Sequence[str] | None) -> bool:
    """Whether some of a handler's types are read from the feed."""
    return not OF_FEED.isdisjoint(told_types(events))
