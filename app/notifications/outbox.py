"""How does a delivery begin, go on after each try, and end? (The caller commits.)"""

from __future__ import annotations

import datetime as dt
import random
import secrets
from collections.abc import Mapping
from typing import Any

from app.claims import moment
from app.clock import now
from app.database import AnySession
from app.notifications.delivery import Outcome
from app.notifications.models import (
    DELIVERED,
    FAILED,
    PENDING,
    Delivery,
    DeliveryAttempt,
    NotificationHandler,
)

# the pauses before each try, from the first: the contract's schedule
PAUSES = (0.0, 5.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 36_000.0)
JITTER = 0.1  # at most so much longer: those that failed together come back apart
LONGEST_PAUSE = 86_400.0  # however long the other side asks us to wait
PATIENCE = dt.timedelta(days=5)


def new_webhook_id() -> str:
    return f"msg_{secrets.token_hex(14)}"


def deliver(session: AnySession, handler_id: int, type_: str, data: Mapping[str, Any]) -> Delivery:
    """Have `data` delivered as soon as may be."""
    delivery = Delivery(
        handler_id=handler_id, type=type_, webhook_id=new_webhook_id(), data=dict(data), due=moment()
    )
    session.add(delivery)
    return delivery


def again(delivery: Delivery) -> None:
    """Begin its tries anew, whatever came of it. What was tried stays written down."""
    delivery.status, delivery.tries = PENDING, 0
    delivery.due = delivery.planned = moment()
    delivery.lease = delivery.who = None


def settle(session: AnySession, delivery: Delivery, outcome: Outcome, *, is_last: bool = False) -> None:
    """Write down a try, and what follows from it for the delivery and its handler."""
    session.add(
        DeliveryAttempt(
            delivery_id=delivery.id,
            status_code=outcome.status_code,
            detail=outcome.detail,
            answer=outcome.answer,
            duration_ms=outcome.duration_ms,
            datetime=outcome.datetime,
        )
    )
    delivery.tries += 1
    delivery.lease = delivery.who = None
    if outcome.is_delivered:
        delivery.status, delivery.due = DELIVERED, None
    elif is_last or outcome.is_permanent or delivery.tries >= len(PAUSES):
        delivery.status, delivery.due = FAILED, None
    else:
        delivery.planned = moment()
        delivery.due = delivery.planned + pause(delivery.tries, outcome.retry_after)


def pause(tries: int, retry_after: float | None) -> dt.timedelta:
    """How long to wait after so many tries: as the schedule says, or as long as the other side asks."""
    asked = max(PAUSES[tries], min(retry_after or 0.0, LONGEST_PAUSE))
    return dt.timedelta(seconds=asked * (1 + random.uniform(0, JITTER)))  # noqa: S311  nothing secret


def learn(handler: NotificationHandler, outcome: Outcome, *, is_test: bool = False) -> None:
    """What a try tells of the handler: that it works, that it fails, that it is to be switched off."""
    if outcome.is_delivered:
        handler.failing_since = None
        handler.settings = {**handler.settings, **outcome.changes} if outcome.changes else handler.settings
    elif not is_test:
        handler.failing_since = handler.failing_since or now()
        if outcome.is_gone:
            switch_off(handler, f"The other side said that it is gone for good: {outcome.detail}")
        elif now() - handler.failing_since >= PATIENCE:
            switch_off(handler, f"Nothing has arrived for five days. The last answer: {outcome.detail}")


def switch_off(handler: NotificationHandler, reason: str) -> None:
    handler.is_enabled, handler.off_reason, handler.failing_since = False, reason[:512], None
