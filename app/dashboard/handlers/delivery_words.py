"""In what state is a handler, what became of a delivery, and what was it about, in words?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from app.dashboard.states import State
from app.extensions import db
from app.languages import say
from app.notifications.log import attempts_of, last_of
from app.notifications.models import (
    DELIVERED,
    FAILED,
    PENDING,
    Delivery,
    DeliveryAttempt,
    NotificationHandler,
)

ON = State("On", "good")
OFF = State("Off", "")
SWITCHED_OFF = State("Switched off", "bad")
FAILING = State("Failing", "warn")
UNCONFIRMED = State("Not confirmed", "warn")

TYPES = {
    "link.clicks_limit_reached": "Click limit reached",
    "link.started": "Link started",
    "link.ended": "Link ended",
    "link.destination_failing": "Destination failing",
    "link.destination_recovered": "Destination works again",
    "link.report": "Report",
    "handler.test": "Test",
}
STATES = {
    PENDING: State("Waiting", "info"),
    DELIVERED: State("Delivered", "good"),
    FAILED: State("Failed", "bad"),
}


def state_of(handler: NotificationHandler) -> State:
    if handler.off_reason:
        return SWITCHED_OFF
    if not handler.is_enabled:
        return OFF
    if not handler.is_confirmed:
        return UNCONFIRMED
    return FAILING if handler.failing_since else ON


def about(delivery: Delivery) -> str:
    """`Click limit reached: launch`."""
    link = delivery.data.get("link")
    kind = say(TYPES.get(delivery.type, delivery.type))
    return f"{kind}: {link['url']}" if isinstance(link, Mapping) else kind


class Told(NamedTuple):
    """One delivery as the log shows it. `payload` is what was told, as a webhook gets it."""

    row: Delivery
    attempts: Sequence[DeliveryAttempt]
    payload: str

    @property
    def state(self) -> State:
        return STATES[self.row.status]

    @property
    def said(self) -> str:
        """What became of it so far."""
        return "failed" if self.row.status == PENDING and self.attempts else self.state.word.lower()

    @property
    def about(self) -> str:
        return about(self.row)

    @property
    def last(self) -> DeliveryAttempt | None:
        return self.attempts[-1] if self.attempts else None


def told(delivery: Delivery, attempts: Sequence[DeliveryAttempt]) -> Told:
    timestamp = delivery.datetime.isoformat().replace("+00:00", "Z")
    payload: dict[str, Any] = {"type": delivery.type, "timestamp": timestamp, "data": delivery.data}
    return Told(delivery, attempts, json.dumps(payload, indent=2, ensure_ascii=False))


def last_told(handler_ids: Sequence[int]) -> dict[int, Told]:
    """The newest delivery of each handler that has any."""
    newest = last_of(handler_ids)
    tries = attempts_of([row.id for row in newest.values()])
    return {handler_id: told(row, tries.get(row.id, ())) for handler_id, row in newest.items()}


def switched_off(user_id: int) -> Sequence[Any]:
    """Id, name and `off_reason` of each handler that Waypost has switched off by itself."""
    columns = (NotificationHandler.id, NotificationHandler.name, NotificationHandler.off_reason)
    found = select(*columns).where(NotificationHandler.user_id == user_id, columns[2].is_not(None))
    return db.session.execute(found.order_by(NotificationHandler.name)).all()
