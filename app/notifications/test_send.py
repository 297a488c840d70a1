"""Messages that an owner has sent by hand: tests, and mails that ask for confirmation. They are limited."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from threading import BoundedSemaphore

from flask import current_app

from app import own_addresses
from app.accounts.models import User
from app.clock import now
from app.database import begin_write, reread
from app.errors import FieldError, Invalid, TooMany
from app.extensions import db
from app.notifications import trial
from app.notifications.confirmation import refusal_of
from app.notifications.delivery import attempt
from app.notifications.door import Door
from app.notifications.log import attempts_of
from app.notifications.models import Delivery, DeliveryAttempt, NotificationHandler
from app.notifications.site import site_of
from app.notifications.transport import all_transports
from app.ownership import get_owned
from app.throttles import Throttles, at_most

SECONDS = 4.5  # so that the answer is there within five
PAUSE = dt.timedelta(minutes=10)  # between two mails that ask for the same confirmation
BY_HANDLER = at_most(6, minutes=10, name="test-handler")
BY_USER = at_most(30, minutes=60, name="test-user")
BY_TARGET = at_most(30, minutes=60, name="test-target")
AT_ONCE = BoundedSemaphore(8)  # of a process's threads, which visitors need too


def test(user: User, id: int) -> tuple[Delivery, DeliveryAttempt]:
    """Send a test, once. Commits. Raises NotThere, TooMany. No transaction is open while it is sent."""
    settings = own_addresses.settings()
    with one_of_few():
        handler = get_owned(user, NotificationHandler, id)
        count_send(handler)
        message = trial.trial_message(handler, site_of(settings), user.language)
        type_, fields, refusal = handler.type, dict(handler.settings), refusal_of(handler)
        db.session.rollback()
        outcome = attempt(type_, fields, message, Door(settings, SECONDS), refusal=refusal)
    begin_write(db.session)
    delivery = trial.keep(db.session, get_owned(user, NotificationHandler, id), message, outcome)
    db.session.commit()
    return delivery, attempts_of([delivery.id])[delivery.id][0]


def count_send(handler: NotificationHandler) -> None:
    """Count a message that somebody sends by hand. Raises TooMany, where a receiver could be flooded so."""
    throttles: Throttles = current_app.extensions["throttles"]
    target = all_transports()[handler.type].target_of(handler.settings)
    counts = ((BY_HANDLER, str(handler.id)), (BY_USER, str(handler.user_id)), (BY_TARGET, target))
    for limit, who in counts:
        if seconds := throttles.take(limit, who):
            text = f"Too many tests were sent. Try again in {minutes_of(seconds)}."
            raise TooMany(seconds, FieldError(text, "too_many_tests"))


def minutes_of(seconds: float) -> str:
    minutes = max(1, ceil(seconds / 60))
    return "1 minute" if minutes == 1 else f"{minutes} minutes"


def ask_again(user: User, id: int) -> NotificationHandler:
    """Have the mail that asks for confirmation sent once more. Raises NotThere, Invalid, TooMany. Commits."""
    begin_write(db.session)
    handler = get_owned(user, NotificationHandler, id)
    reread(db.session, handler)
    if handler.is_confirmed:
        db.session.rollback()
        return handler  # what was asked for is so already
    if not handler.is_enabled:
        raise Invalid(FieldError("This handler is off. Turn it on first.", "disabled"))
    settings = own_addresses.settings()
    if lacks := all_transports()[handler.type].lacks(settings):
        raise Invalid(FieldError(lacks, "no_mail_server"))
    if seconds := seconds_to_wait(handler):
        text = f"A mail was sent not long ago. Another one can be sent in {minutes_of(seconds)}."
        raise TooMany(ceil(seconds), FieldError(text, "too_many_confirmations"))
    handler.confirmation_due = now()
    db.session.commit()
    return handler


def seconds_to_wait(handler: NotificationHandler) -> float:
    """Since the last mail; or until the next one, which the worker may have put off for the limits."""
    last, due = handler.confirmation_datetime, handler.confirmation_due
    ends = [*([last + PAUSE] if last else []), *([due] if due else [])]
    return max([0.0, *((end - now()).total_seconds() for end in ends)])


@contextmanager
def one_of_few() -> Iterator[None]:
    if not AT_ONCE.acquire(blocking=False):
        text = "Several tests are on their way. Try again in a few seconds."
        raise TooMany(5, FieldError(text, "busy"))
    try:
        yield
    finally:
        AT_ONCE.release()
