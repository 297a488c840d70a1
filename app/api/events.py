"""API of the feed of events."""

from __future__ import annotations

from flask import Response

from app.api import envelope
from app.api.auth import request_access
from app.api.blueprint import blueprint
from app.core.extensions import db
from app.events.feed.params import read_feed_params
from app.events.feed.reading import read
from app.input.data import RequestData
from app.notifications.site import site_of
from app.web import application
from app.web.body import read_query


@blueprint.get("/events", endpoint="events", strict_slashes=False)
def find_events() -> Response:
    """Lists the events after a cursor, oldest first. `next` is the cursor to go on with, at the end too."""
    asked = read_feed_params(RequestData(read_query()))
    page = read(
        db.session,
        site_of(application.settings()),
        request_access().workspace_id,
        asked.after,
        types=asked.types,
        link_id=asked.link_id,
        limit=asked.limit,
    )
    return envelope.json_response({"data": page.events, "meta": {"next": page.next, "is_more": page.is_more}})
