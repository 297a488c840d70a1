"""How fresh the figures of a page are, where they come from a replica."""

from __future__ import annotations

import datetime as dt

from app.analytics.freshness import first_click_after, newest_id
from app.core import clock
from app.core.extensions import db
from app.web.figures import find_replica, read_figures

UNTOLD = dt.timedelta(seconds=5)  # a replica is always a little behind


def find_missing_since() -> dt.datetime | None:
    """Since when clicks are missing on this page; None where none are, save those of the last seconds."""
    replica = find_replica()
    if replica is None:
        return None
    newest = read_figures(newest_id)
    if replica.is_down:  # so the figures come from the database itself
        return None
    since = first_click_after(db.session, newest)
    return since if since is not None and clock.now() - since >= UNTOLD else None
