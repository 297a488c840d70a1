"""State changes of deliveries: created, tried, tried again later, ended. The caller commits."""

from __future__ import annotations

import datetime as dt
import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar, cast

from sqlalchemy import Table, delete, insert, select, update
from sqlalchemy.orm import Session, object_session

from app.accounts.models import PasswordRequest, Workspace
from app.audit.services import Object, record
from app.core.clock import now
from app.core.database import AnySession, begin_write
from app.core.leases import is_free, precise_now
from app.core.scheduling import give_way
from app.core.wakeups import OUTBOX, wake_on_insert
from app.i18n.messages import in_english
from app.i18n.messages import lazy_gettext as _l
from app.notifications.delivery import AttemptResult
from app.notifications.models import (
    DELIVERED,
    FAILED,
    PENDING,
    Delivery,
    DeliveryAttempt,
    Event,
    EventCursor,
    NotificationHandler,
    SystemEmail,
)
from app.notifications.transport import all_transports

# the pauses before each try, from the first: the contract's schedule
PAUSES = (0.0, 5.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 36_000.0)
JITTER = 0.1  # a pause is up to 10 % longer, so that those that failed together are not tried together
LONGEST_PAUSE = 86_400.0  # the longest `Retry-After` that is obeyed
PATIENCE = dt.timedelta(days=5)
OWN = 0  # in place of a handler's id
OFF = _l("Not sent: the handler is turned off.")
FAULT = _l("Waypost failed to send this; see its log.")

Row = TypeVar("Row", bound=Any)

for _model in (Event, Delivery, PasswordRequest):
    wake_on_insert(cast("Table", _model.__table__), OUTBOX)


def new_webhook_id() -> str:
    return f"msg_{secrets.token_hex(14)}"


def deliver(
    session: AnySession,
    handler_id: int,
    type_: str,
    data: Mapping[str, Any],
    datetime: dt.datetime | None = None,
) -> Delivery:
    """Add a delivery of `data` that is due at once. `datetime`: when the event happened, if not just now."""
    give_way()  # others follow, and each takes a while to write
    delivery = Delivery(
        handler_id=handler_id,
        type=type_,
        webhook_id=new_webhook_id(),
        data=dict(data),
        due=precise_now(),
        datetime=datetime or now(),
    )
    session.add(delivery)
    return delivery


def restart_attempts(delivery: Delivery) -> None:
    """Start the schedule of attempts over, whatever the status is. The past attempts stay stored."""
    delivery.status, delivery.tries = PENDING, 0
    delivery.due = delivery.planned = precise_now()
    delivery.lease = delivery.who = None


# a delivery's id, its handler's (OWN for a mail from Waypost itself), and None where no attempt was made
Came = tuple[int, int, AttemptResult | None]


def write_down(session: Session, who: str, all_that_came: Sequence[Came]) -> None:
    """Store the results of deliveries that `who` has claimed.

    Where another sender holds the lease by now, only the attempt is stored.
    """
    handlers = locked(session, NotificationHandler, {handler_id for _, handler_id, _ in all_that_came})
    lock_system_emails(session, {id_ for id_, handler_id, _ in all_that_came if handler_id == OWN})
    deliveries = locked(session, Delivery, {id_ for id_, _, _ in all_that_came})
    for id_, handler_id, outcome in all_that_came:
        delivery, handler = deliveries.get(id_), handlers.get(handler_id)
        if delivery is None or (handler is None and handler_id != OWN):
            continue  # deleted meanwhile, and its attempts with it
        is_ours = delivery.who == who
        if outcome is None:
            delivery.lease = None if is_ours else delivery.lease
        elif is_ours:
            if handler is not None:
                learn(handler, outcome)
            settle(session, delivery, outcome, is_last=handler is not None and not handler.is_enabled)
        else:
            session.add(attempt_of(delivery, outcome))
    session.flush()
    for handler in handlers.values():
        if not handler.is_enabled:
            end_pending(session, handler.id)
    end_subscriptions(session, [came[1] for came in all_that_came if came[2] is not None and came[2].is_gone])


def end_subscriptions(session: Session, handler_ids: Sequence[int]) -> None:
    """Delete those of these handlers, to which nothing can be sent any more, that are subscriptions.

    A REST hook is unsubscribed by an answer of 410. All other handlers are only switched off.
    """
    types = [type_ for type_, transport in all_transports().items() if transport.is_subscription]
    over = NotificationHandler.id.in_(handler_ids), NotificationHandler.type.in_(types)
    for handler in session.scalars(select(NotificationHandler).where(*over)).all() if handler_ids else ():
        on = Object("notification_handler", handler.id, handler.name)
        record(session, "handler.unsubscribed", owner_id=handler.user_id, on=on, type=handler.type)
        session.delete(handler)
        session.flush()


def locked(session: Session, model: type[Row], ids: Collection[int]) -> dict[int, Row]:
    """Lock the rows with these ids, in the order of ids.

    The caller locks handlers before their deliveries, as the deletion of a handler does: no deadlocks.
    """
    rows = select(model).where(model.id.in_(ids)).order_by(model.id).with_for_update(key_share=True)
    return {row.id: row for row in session.scalars(rows)}


def lock_system_emails(session: Session, delivery_ids: Collection[int]) -> None:
    """Lock the system emails of these deliveries before the deliveries: `withdraw` deletes in this order."""
    if delivery_ids:
        ids = session.scalars(select(Delivery.letter_id).where(Delivery.id.in_(delivery_ids))).all()
        locked(session, SystemEmail, [id_ for id_ in ids if id_ is not None])


def end_pending(session: AnySession, handler_id: int | None = None) -> None:
    """Mark the pending deliveries of a disabled handler as failed; without an id, those of all disabled ones.

    Without an id it also ends those of deleted workspaces.
    """
    have_left = select(Workspace.id).where(Workspace.deleted_datetime.is_not(None))
    is_silent = NotificationHandler.is_enabled.is_(False) | NotificationHandler.workspace_id.in_(have_left)
    is_off = Delivery.handler_id.in_(select(NotificationHandler.id).where(is_silent))
    whose = is_off if handler_id is None else Delivery.handler_id == handler_id
    waits = Delivery.due.is_not(None) & is_free(
        Delivery, precise_now()
    )  # one being sent ends by its own result
    ended = update(Delivery).where(waits, whose).values(due=None, status=FAILED, lease=None, who=None)
    ids = session.scalars(ended.returning(Delivery.id)).all()
    rows = [{"delivery_id": id_, "detail": OFF, "duration_ms": 0} for id_ in ids]
    if rows:
        session.execute(insert(DeliveryAttempt), rows)


def attempt_of(delivery: Delivery, outcome: AttemptResult) -> DeliveryAttempt:
    return DeliveryAttempt(
        delivery_id=delivery.id,
        status_code=outcome.status_code,
        detail=outcome.detail,
        answer=outcome.answer,
        duration_ms=outcome.duration_ms,
        datetime=outcome.datetime,
    )


def settle(session: AnySession, delivery: Delivery, outcome: AttemptResult, *, is_last: bool = False) -> None:
    """Store an attempt, and set the delivery's status and next attempt from its result."""
    session.add(attempt_of(delivery, outcome))
    delivery.tries += 1
    delivery.lease = delivery.who = None
    system_email = delivery.system_email if delivery.letter_id is not None else None
    due = next_due(delivery.tries, system_email and system_email.until, outcome.retry_after)
    if outcome.is_delivered:
        delivery.status, delivery.due = DELIVERED, None
    elif is_last or outcome.is_permanent or due is None:
        delivery.status, delivery.due = FAILED, None
    else:
        delivery.planned, delivery.due = precise_now(), due
    if system_email is not None and delivery.due is None:
        system_email.content = None


def put_off(session: Session, id_: int) -> None:
    """Count an attempt that failed by our own error, without loading the row that may cause it. Commits."""
    begin_write(session)
    found = (
        select(Delivery.tries, SystemEmail.id, SystemEmail.until)
        .outerjoin(SystemEmail)
        .where(Delivery.id == id_)
    )
    if row := session.execute(found).first():
        tries, letter_id, until = row.tries + 1, row.id, row.until
        due = next_due(tries, until)
        values = {"tries": tries, "due": due, "planned": precise_now(), "lease": None, "who": None}
        values |= {} if due else {"status": FAILED}
        if letter_id is not None and due is None:
            session.execute(update(SystemEmail).where(SystemEmail.id == letter_id).values(content=None))
        session.execute(update(Delivery).where(Delivery.id == id_).values(values))
        session.execute(insert(DeliveryAttempt), [{"delivery_id": id_, "detail": FAULT, "duration_ms": 0}])
    session.commit()


def next_due(tries: int, until: dt.datetime | None, retry_after: float | None = None) -> dt.datetime | None:
    """When to try again after `tries` attempts; None after the last one, or where that is past `until`."""
    if tries >= len(PAUSES):
        return None
    due = precise_now() + pause(tries, retry_after)
    return due if until is None or due < until else None


def pause(tries: int, retry_after: float | None) -> dt.timedelta:
    """The pause after `tries` attempts: by the schedule, or as `retry_after` asks if that is longer."""
    asked = max(PAUSES[tries], min(retry_after or 0.0, LONGEST_PAUSE))
    return dt.timedelta(seconds=asked * (1 + random.uniform(0, JITTER)))  # noqa: S311  nothing secret


def learn(handler: NotificationHandler, outcome: AttemptResult, *, is_test: bool = False) -> None:
    """Update the handler from an attempt's result: it works, it fails, or it is to be switched off."""
    if outcome.is_delivered:
        handler.failing_since = None
        handler.settings = {**handler.settings, **outcome.changes} if outcome.changes else handler.settings
    elif not is_test:
        handler.failing_since = handler.failing_since or now()
        if outcome.is_gone:
            switch_off(
                handler, _l("The other side said that it is gone for good: %(detail)s", detail=outcome.detail)
            )
        elif now() - handler.failing_since >= PATIENCE:
            switch_off(
                handler,
                _l(
                    "No notification has arrived for five days. The last answer: %(detail)s",
                    detail=outcome.detail,
                ),
            )


def switch_off(handler: NotificationHandler, reason: str) -> None:
    """Switch the handler off, and record it in the audit log without the other side's answer.

    It loses its place in the feed: switched on again, it is told of what happens from then on.
    """
    session = object_session(handler)
    if session is not None:
        session.execute(delete(EventCursor).where(EventCursor.id == handler.id))
        on = Object("notification_handler", handler.id, handler.name)
        told = in_english(reason).partition(":")[0]
        record(
            session,
            "handler.switched_off",
            owner_id=handler.user_id,
            workspace_id=handler.workspace_id,
            on=on,
            reason=told,
        )
    handler.is_enabled, handler.off_reason, handler.failing_since = False, reason, None
