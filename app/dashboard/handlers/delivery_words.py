"""Words for handlers and deliveries: their states, types of events, and rows of the log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from app.core.extensions import db
from app.dashboard.links.states import Badge
from app.dashboard.shared.words import words_for
from app.i18n.messages import lazy_gettext as _l
from app.notifications.log import attempts_of, last_of
from app.notifications.models import (
    DELIVERED,
    FAILED,
    PENDING,
    Delivery,
    DeliveryAttempt,
    NotificationHandler,
)

ON = Badge(_l("On"), "good")
OFF = Badge(_l("Off"), "")
SWITCHED_OFF = Badge(_l("Turned off"), "bad")
FAILING = Badge(_l("Failing"), "warn")
UNCONFIRMED = Badge(_l("Not confirmed"), "warn")

TYPES: Mapping[str, str] = words_for("delivery_types")
STATES = {
    PENDING: Badge(_l("Waiting"), "info"),
    DELIVERED: Badge(_l("Delivered"), "good"),
    FAILED: Badge(_l("Failed"), "bad"),
}


def state_of(handler: NotificationHandler) -> Badge:
    if handler.off_reason:
        return SWITCHED_OFF
    if not handler.is_enabled:
        return OFF
    if not handler.is_confirmed:
        return UNCONFIRMED
    return FAILING if handler.failing_since else ON


def about(delivery: Delivery) -> str:
    """Type of event and alias: `Click limit reached: launch`."""
    link = delivery.data.get("link")
    kind = TYPES.get(delivery.type, delivery.type)
    return f"{kind}: {link['url']}" if isinstance(link, Mapping) else kind


class DeliveryRow(NamedTuple):
    """One delivery as the log shows it. `payload` is its message, as a webhook without a template gets it."""

    row: Delivery
    attempts: Sequence[DeliveryAttempt]
    payload: str

    @property
    def state(self) -> Badge:
        return STATES[self.row.status]

    @property
    def result(self) -> str:
        """The result so far, in lower case."""
        state = STATES[FAILED] if self.row.status == PENDING and self.attempts else self.state
        return state.word.lower()

    @property
    def about(self) -> str:
        return about(self.row)

    @property
    def last(self) -> DeliveryAttempt | None:
        return self.attempts[-1] if self.attempts else None


def delivery_row(delivery: Delivery, attempts: Sequence[DeliveryAttempt]) -> DeliveryRow:
    timestamp = delivery.datetime.isoformat().replace("+00:00", "Z")
    payload: dict[str, Any] = {"type": delivery.type, "timestamp": timestamp, "data": delivery.data}
    return DeliveryRow(delivery, attempts, json.dumps(payload, indent=2, ensure_ascii=False))


def latest_deliveries(handler_ids: Sequence[int]) -> dict[int, DeliveryRow]:
    """The newest delivery of each handler that has any."""
    newest = last_of(handler_ids)
    tries = attempts_of([row.id for row in newest.values()])
    return {handler_id: delivery_row(row, tries.get(row.id, ())) for handler_id, row in newest.items()}


def switched_off(workspace_id: int) -> Sequence[Any]:
    """Id, name and `off_reason` of each handler that Waypost has switched off by itself."""
    columns = (NotificationHandler.id, NotificationHandler.name, NotificationHandler.off_reason)
    found = select(*columns).where(NotificationHandler.workspace_id == workspace_id, columns[2].is_not(None))
    return db.session.execute(found.order_by(NotificationHandler.name)).all()
