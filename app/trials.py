"""Does a handler work? Its owner asks, and waits for the answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from app import own_addresses
from app.accounts.models import User
from app.database import begin_write
from app.errors import FieldError, TooMany
from app.extensions import db
from app.notifications import trial
from app.notifications.delivery import attempt
from app.notifications.door import Door
from app.notifications.log import attempts_of
from app.notifications.models import Delivery, DeliveryAttempt, NotificationHandler
from app.notifications.site import site_of
from app.ownership import get_owned

SECONDS = 4.5  # so that the answer is there within five
AT_ONCE = BoundedSemaphore(8)  # of a process's threads, which visitors need too


def test(user: User, id: int) -> tuple[Delivery, DeliveryAttempt]:
    """Send a test, once. Commits. Raises NotThere, TooMany. No transaction is open while it is sent."""
    settings = own_addresses.settings()
    with one_of_few():
        handler = get_owned(user, NotificationHandler, id)
        message = trial.trial_message(handler, site_of(settings), user.language)
        type_, fields = handler.type, dict(handler.settings)
        db.session.rollback()
        outcome = attempt(type_, fields, message, Door(settings, SECONDS))
    begin_write(db.session)
    delivery = trial.keep(db.session, get_owned(user, NotificationHandler, id), message, outcome)
    db.session.commit()
    return delivery, attempts_of([delivery.id])[delivery.id][0]


@contextmanager
def one_of_few() -> Iterator[None]:
    if not AT_ONCE.acquire(blocking=False):
        text = "Several tests are on their way. Try again in a few seconds."
        raise TooMany(5, FieldError(text, "busy"))
    try:
        yield
    finally:
        AT_ONCE.release()
