"""Types of events. What is no event of the feed (tests and reports of handlers) is not among them."""

from __future__ import annotations

CLICKED = "link.clicked"
CREATED = "link.created"
UPDATED = "link.updated"
DELETED = "link.deleted"
RESTORED = "link.restored"
LIMIT_REACHED = "link.clicks_limit_reached"
STARTED = "link.started"
ENDED = "link.ended"
FAILING = "link.destination_failing"
RECOVERED = "link.destination_recovered"

# in the order of menus
TYPES = (
    CLICKED,
    CREATED,
    UPDATED,
    DELETED,
    RESTORED,
    LIMIT_REACHED,
    STARTED,
    ENDED,
    FAILING,
    RECOVERED,
)

# no events: what the sequencer is told with them, in their order
PURGED = "link.purged"  # all that is told of a link's changes goes
MOVED = "domain.moved"  # a domain's links had another address before
