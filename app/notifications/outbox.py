"""How does a delivery begin, go on after each try, and end? (The caller commits.)"""

from __future__ import annotations

import datetime as dt
import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session, object_session

from app.accounts.models import User
from app.audit.services import Object, record
from app.claims import is_free, moment
from app.clock import now
from app.database import AnySession, begin_write
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
OFF = "Not sent: the handler is switched off."
FAULT = "Waypost failed to send this; its log says why."

Row = TypeVar("Row", bound=Any)


def new_webhook_id() -> str:
    return f"msg_{secrets.token_hex(14)}"


def deliver(
    session: AnySession,
    handler_id: int,
    type_: str,
    data: Mapping[str, Any],
    datetime: dt.datetime | None = None,
) -> Delivery:
    """Have `data` delivered as soon as may be. `datetime`: when it happened, if not just now."""
    delivery = Delivery(
        handler_id=handler_id,
        type=type_,
        webhook_id=new_webhook_id(),
        data=dict(data),
        due=moment(),
        datetime=datetime or now(),
    )
    session.add(delivery)
    return delivery


def again(delivery: Delivery) -> None:
    """Begin its tries anew, whatever came of it. What was tried stays written down."""
    delivery.status, delivery.tries = PENDING, 0
    delivery.due = delivery.planned = moment()
    delivery.lease = delivery.who = None


Came = tuple[int, int, Outcome | None]  # a delivery's id, its handler's, and None where nobody has tried


def write_down(session: Session, who: str, all_that_came: Sequence[Came]) -> None:
    """What came of deliveries that `who` has taken. One that is another's by now only gets the attempt."""
    handlers = locked(session, NotificationHandler, {handler_id for _, handler_id, _ in all_that_came})
    deliveries = locked(session, Delivery, {id_ for id_, _, _ in all_that_came})
    for id_, handler_id, outcome in all_that_came:
        delivery, handler = deliveries.get(id_), handlers.get(handler_id)
        if delivery is None or handler is None:
            continue  # deleted meanwhile, and its attempts with it
        is_ours = delivery.who == who
        if outcome is None:
            delivery.lease = None if is_ours else delivery.lease
        elif is_ours:
            learn(handler, outcome)
            settle(session, delivery, outcome, is_last=not handler.is_enabled)
        else:
            session.add(attempt_of(delivery, outcome))
    session.flush()
    for handler in handlers.values():
        if not handler.is_enabled:
            end_pending(session, handler.id)


def locked(session: Session, model: type[Row], ids: Collection[int]) -> dict[int, Row]:
    """Handlers are locked before their deliveries, as deleting one does, and all in the order of ids."""
    rows = select(model).where(model.id.in_(ids)).order_by(model.id).with_for_update(key_share=True)
    return {row.id: row for row in session.scalars(rows)}


def end_pending(session: AnySession, handler_id: int | None = None) -> None:
    """A handler that is off gets nothing: what waits for it (or for any that is off) has failed. So does
    what waits for those of a user who was deleted."""
    have_left = select(User.id).where(User.deleted_datetime.is_not(None))
    is_silent = NotificationHandler.is_enabled.is_(False) | NotificationHandler.user_id.in_(have_left)
    is_off = Delivery.handler_id.in_(select(NotificationHandler.id).where(is_silent))
    whose = is_off if handler_id is None else Delivery.handler_id == handler_id
    waits = Delivery.due.is_not(None) & is_free(Delivery, moment())  # one under way ends by what comes of it
    ended = update(Delivery).where(waits, whose).values(due=None, status=FAILED, lease=None, who=None)
    ids = session.scalars(ended.returning(Delivery.id)).all()
    rows = [{"delivery_id": id_, "detail": OFF, "duration_ms": 0} for id_ in ids]
    if rows:
        session.execute(insert(DeliveryAttempt), rows)


def attempt_of(delivery: Delivery, outcome: Outcome) -> DeliveryAttempt:
    return DeliveryAttempt(
        delivery_id=delivery.id,
        status_code=outcome.status_code,
        detail=outcome.detail,
        answer=outcome.answer,
        duration_ms=outcome.duration_ms,
        datetime=outcome.datetime,
    )


def settle(session: AnySession, delivery: Delivery, outcome: Outcome, *, is_last: bool = False) -> None:
    """Write down a try, and what follows from it for the delivery."""
    session.add(attempt_of(delivery, outcome))
    delivery.tries += 1
    delivery.lease = delivery.who = None
    if outcome.is_delivered:
        delivery.status, delivery.due = DELIVERED, None
    elif is_last or outcome.is_permanent or delivery.tries >= len(PAUSES):
        delivery.status, delivery.due = FAILED, None
    else:
        delivery.planned = moment()
        delivery.due = delivery.planned + pause(delivery.tries, outcome.retry_after)


def put_off(session: Session, id_: int) -> None:
    """Count a try that failed for a fault of ours, without reading what may be at fault. Commits."""
    begin_write(session)
    tries = session.scalar(select(Delivery.tries).where(Delivery.id == id_))
    if tries is not None:
        is_last = tries + 1 >= len(PAUSES)
        after = {"status": FAILED, "due": None} if is_last else {"due": moment() + pause(tries + 1, None)}
        values = {"tries": tries + 1, "planned": moment(), "lease": None, "who": None, **after}
        session.execute(update(Delivery).where(Delivery.id == id_).values(values))
        session.execute(insert(DeliveryAttempt), [{"delivery_id": id_, "detail": FAULT, "duration_ms": 0}])
    session.commit()


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
    """In the audit log, too, without what the other side has answered."""
    session = object_session(handler)
    if session is not None:
        on = Object("notification_handler", handler.id, handler.name)
        record(
            session, "handler.switched_off", owner_id=handler.user_id, on=on, reason=reason.partition(":")[0]
        )
    handler.is_enabled, handler.off_reason, handler.failing_since = False, reason[:512], None
