"""The delivery log of a handler: its deliveries and their attempts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import aliased

from app.core.extensions import db
from app.input.listing import Listing, one_of
from app.notifications.composing import all_types
from app.notifications.models import (
    DELIVERED,
    FAILED,
    PENDING,
    Delivery,
    DeliveryAttempt,
    NotificationHandler,
)

STATUSES = (PENDING, DELIVERED, FAILED)


def log_of(handler: NotificationHandler) -> Listing[Delivery]:
    """The list of all deliveries to this handler, with its filters and orders."""
    return Listing(
        model=Delivery,
        filters={
            "status": lambda text, params: Delivery.status == one_of(STATUSES)(text),  # noqa: ARG005
            "type": lambda text, params: Delivery.type == one_of(all_types())(text),  # noqa: ARG005
        },
        orders={"delivery_id": Delivery.id, "datetime": Delivery.datetime},
        mine=Delivery.handler_id == handler.id,
    )


def attempts_of(ids: Sequence[int]) -> Mapping[int, Sequence[DeliveryAttempt]]:
    """The attempts of each of these deliveries, oldest first; one query for a page."""
    found: dict[int, list[DeliveryAttempt]] = defaultdict(list)
    rows = select(DeliveryAttempt).where(DeliveryAttempt.delivery_id.in_(ids)).order_by(DeliveryAttempt.id)
    for attempt in db.session.scalars(rows):
        found[attempt.delivery_id].append(attempt)
    return found


def last_of(handler_ids: Sequence[int]) -> Mapping[int, Delivery]:
    """The newest delivery of each handler, found by the index, because a log may be long."""
    handlers = select(NotificationHandler.id).where(NotificationHandler.id.in_(handler_ids)).subquery()
    one = aliased(Delivery)
    newest = select(func.max(one.id)).where(one.handler_id == handlers.c.id).scalar_subquery()
    found = db.session.scalars(select(Delivery).join(handlers, Delivery.id == newest))
    return {delivery.handler_id: delivery for delivery in found if delivery.handler_id is not None}
