"""Filters and sort orders of the list of notification handlers."""

from __future__ import annotations

from app.input.listing import Listing, contains, one_of
from app.input.parsers import parse_boolean
from app.notifications.models import NotificationHandler
from app.notifications.transport import all_transports

WORDS = {type_: type_ for type_ in all_transports()} | {
    word: type_ for type_, transport in all_transports().items() for word in transport.words
}

LISTING = Listing(
    model=NotificationHandler,
    filters={
        "search": lambda text, params: contains(text, NotificationHandler.name),  # noqa: ARG005
        "type": lambda text, params: NotificationHandler.type == WORDS[one_of(list(WORDS))(text)],  # noqa: ARG005
        "is_enabled": lambda text, params: NotificationHandler.is_enabled.is_(parse_boolean(text)),  # noqa: ARG005
    },
    orders={
        "notification_handler_id": NotificationHandler.id,
        "datetime": NotificationHandler.datetime,
        "last_datetime": NotificationHandler.last_datetime,
        "name": NotificationHandler.name,
    },
)
