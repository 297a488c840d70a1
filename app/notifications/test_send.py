"""Messages that an owner requests: tests, and repeated confirmation mails. Both are rate limited.

A test is one attempt at once, while the request waits, with no transaction open.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import ceil
from threading import BoundedSemaphore

from app.accounts.access import Access, get_owned
from app.core.clock import now
from app.core.database import AnySession, begin_write, reread
from app.core.errors import FieldError, Invalid, RateLimited
from app.core.extensions import db
from app.core.leases import precise_now
from app.i18n.languages import DEFAULT, in_language
from app.i18n.messages import lazy_gettext as _l
from app.i18n.messages import lazy_ngettext
from app.net.session import OutboundSession
from app.notifications import events
from app.notifications.confirmation import refusal_of
from app.notifications.delivery import AttemptResult, attempt
from app.notifications.log import attempts_of
from app.notifications.message import Message
from app.notifications.models import Delivery, DeliveryAttempt, NotificationHandler
from app.notifications.outbox import learn, new_webhook_id, settle
from app.notifications.site import SiteUrls, site_of
from app.notifications.transport import all_transports
from app.notifications.unsubscribe import stop_url
from app.rate_limit.limiter import at_most
from app.web import application
from app.web.application import rate_limiter

SECONDS = 4.5  # so that the request is answered within five
PAUSE = dt.timedelta(minutes=10)  # between two mails that ask for the same confirmation
BY_HANDLER = at_most(6, minutes=10, name="test-handler")
BY_USER = at_most(30, minutes=60, name="test-user")
BY_TARGET = at_most(30, minutes=60, name="test-target")
CONCURRENT_TESTS = BoundedSemaphore(8)  # of a process's threads, which visitors need too


def test(access: Access, id: int) -> tuple[Delivery, DeliveryAttempt]:
    """Send a test, once. Commits. Raises NotFound, RateLimited. No transaction is open while it is sent."""
    settings = application.settings()
    with one_of_few():
        handler = get_owned(access, NotificationHandler, id)
        count_send(handler)
        message = trial_message(handler, site_of(settings), access.user.language)
        type_, fields, refusal = handler.type, dict(handler.settings), refusal_of(handler)
        db.session.rollback()
        outcome = attempt(type_, fields, message, OutboundSession(settings, SECONDS), refusal=refusal)
    begin_write(db.session)
    delivery = keep(db.session, get_owned(access, NotificationHandler, id), message, outcome)
    db.session.commit()
    return delivery, attempts_of([delivery.id])[delivery.id][0]


def trial_message(handler: NotificationHandler, site: SiteUrls, language: str = DEFAULT) -> Message:
    data = {"handler": {"id": handler.id, "name": handler.name, "type": handler.type}}
    with in_language(language):
        message = events.compose(new_webhook_id(), events.TEST, precise_now(), data, site)
    return replace(message, stop_url=stop_url(handler, site), language=language)


def keep(
    session: AnySession, handler: NotificationHandler, message: Message, outcome: AttemptResult
) -> Delivery:
    """Store the result as a delivery with its one attempt. (The caller commits.)"""
    delivery = Delivery(
        handler_id=handler.id,
        type=message.type,
        webhook_id=message.id,
        data=dict(message.data),
        tries=0,
    )
    session.add(delivery)
    session.flush()
    settle(session, delivery, outcome, is_last=True)
    learn(handler, outcome, is_test=True)
    session.flush()
    return delivery


def count_send(handler: NotificationHandler) -> None:
    """Count a requested message by handler, user and receiver, to flood none. Raises RateLimited."""
    target = all_transports()[handler.type].target_of(handler.settings)
    counts = ((BY_HANDLER, str(handler.id)), (BY_USER, str(handler.user_id)), (BY_TARGET, target))
    if seconds := rate_limiter().take_each(counts):
        text = lazy_ngettext(
            "Too many tests were sent. Try again in 1 minute.",
            "Too many tests were sent. Try again in %(num)s minutes.",
            minutes_of(seconds),
        )
        raise RateLimited(seconds, FieldError(text, "too_many_tests"))


def minutes_of(seconds: float) -> int:
    return max(1, ceil(seconds / 60))


def ask_again(access: Access, id: int) -> NotificationHandler:
    """Schedule another confirmation mail. Commits. Raises NotFound, Invalid, RateLimited."""
    begin_write(db.session)
    handler = get_owned(access, NotificationHandler, id)
    reread(db.session, handler)
    if handler.is_confirmed:
        db.session.rollback()
        return handler  # it is confirmed already
    if not handler.is_enabled:
        raise Invalid(FieldError(_l("This handler is off. Turn it on first."), "disabled"))
    settings = application.settings()
    if lacks := all_transports()[handler.type].lacks(settings):
        raise Invalid(FieldError(lacks, "no_mail_server"))
    if seconds := seconds_to_wait(handler):
        text = lazy_ngettext(
            "An e-mail was sent recently. Another one can be sent in 1 minute.",
            "An e-mail was sent recently. Another one can be sent in %(num)s minutes.",
            minutes_of(seconds),
        )
        raise RateLimited(ceil(seconds), FieldError(text, "too_many_confirmations"))
    handler.confirmation_due = now()
    db.session.commit()
    return handler


def seconds_to_wait(handler: NotificationHandler) -> float:
    """The seconds until another confirmation mail may be requested; 0.0 for now.

    Counted from the last mail, or to the next one, which the worker may have delayed for the limits.
    """
    last, due = handler.confirmation_datetime, handler.confirmation_due
    ends = [*([last + PAUSE] if last else []), *([due] if due else [])]
    return max([0.0, *((end - now()).total_seconds() for end in ends)])


@contextmanager
def one_of_few() -> Iterator[None]:
    if not CONCURRENT_TESTS.acquire(blocking=False):
        text = _l("Several tests are on their way. Try again in a few seconds.")
        raise RateLimited(5, FieldError(text, "busy"))
    try:
        yield
    finally:
        CONCURRENT_TESTS.release()
