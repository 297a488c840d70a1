"""Mails that the worker writes: to confirm an address, within rate limits, and to reset a password.

The limits count by handler, user and receiver: an owner who enters other people's addresses reaches few of
them, and no receiver gets many from all owners together. A mail over a limit waits until the limit allows it.

Who forgot a password names an address. The web request stores only that, whether it has an account or not. So
neither its response nor its duration tells whether there is an account.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.accounts import one_time_addresses
from app.accounts.models import PasswordRequest, PasswordReset, User, Workspace
from app.audit.services import record
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.encryption import UnreadableSecret
from app.core.error_boundary import ErrorBoundary
from app.notifications.confirmation import address_to_confirm, post_confirmation
from app.notifications.models import NotificationHandler
from app.notifications.security_email import SecurityMail
from app.notifications.site import site_of
from app.notifications.transport import mailbox_of
from app.rate_limit.limiter import RateLimiter, at_most

BATCH_SIZE = 50
DAY = 24 * 60
UNREADABLE_PAUSE = dt.timedelta(hours=1)
BY_HANDLER = at_most(5, minutes=DAY, name="confirmation-handler")
BY_USER = at_most(20, minutes=DAY, name="confirmation-user")
BY_TARGET = at_most(3, minutes=DAY, name="confirmation-target")

confirmation_errors = ErrorBoundary("confirmations")
reset_errors = ErrorBoundary("forgotten passwords")


def post_confirmations(session: Session, settings: Settings, rate_limiter: RateLimiter) -> bool:
    """Writes the mails that are due, or puts them off. Returns whether there were any.

    Without a mail server they wait.
    """
    if not settings.smtp_url:
        return False
    due = (
        select(NotificationHandler.id)
        .join(User, User.id == NotificationHandler.user_id)
        .join(Workspace, Workspace.id == NotificationHandler.workspace_id)
        .where(NotificationHandler.confirmation_due <= now())
        .where(NotificationHandler.id.not_in(confirmation_errors.backed_off(int)))
        .where(User.disabled_datetime.is_(None), Workspace.deleted_datetime.is_(None))
        .order_by(NotificationHandler.confirmation_due)
        .limit(BATCH_SIZE)
    )
    ids = session.scalars(due).all()
    session.rollback()
    for id_ in ids:
        # each in a transaction of its own: the count of the limits is not rolled back with it
        with confirmation_errors.attempt(id_):
            begin_write(session)
            handler = session.get(NotificationHandler, id_, with_for_update=True)
            if (
                handler is not None
                and handler.confirmation_due is not None
                and handler.confirmation_due <= now()
            ):
                post_or_put_off(session, handler, settings, rate_limiter)
            session.commit()
        session.rollback()
    return bool(ids)


def post_or_put_off(
    session: Session, handler: NotificationHandler, settings: Settings, rate_limiter: RateLimiter
) -> None:
    if isinstance(handler.settings, UnreadableSecret):
        handler.confirmation_due = now() + UNREADABLE_PAUSE  # its address is known once the key is back
        return
    target = mailbox_of(address_to_confirm(handler))
    counts = ((BY_HANDLER, str(handler.id)), (BY_USER, str(handler.user_id)), (BY_TARGET, target))
    if seconds := rate_limiter.take_each(counts):
        handler.confirmation_due = now() + dt.timedelta(seconds=seconds)
    else:
        post_confirmation(session, handler, site_of(settings))


def answer_forgotten(session: Session, settings: Settings) -> bool:
    """Writes the mails of waiting requests and deletes these. Returns whether there were any."""
    wanted = select(PasswordRequest.id).where(PasswordRequest.id.not_in(reset_errors.backed_off(int)))
    ids = session.scalars(wanted.order_by(PasswordRequest.id).limit(BATCH_SIZE)).all()
    reset_errors.each(ids, lambda some: answer_some(session, settings, some))
    session.rollback()
    return bool(ids)


def answer_some(session: Session, settings: Settings, ids: Sequence[int]) -> None:
    """Writes the mails of these requests, all or none."""
    begin_write(session)
    mine = PasswordRequest.id.in_(ids)
    taken = delete(PasswordRequest).where(mine).returning(PasswordRequest.email, PasswordRequest.datetime)
    oldest = (
        now() - one_time_addresses.LIFETIMES[PasswordReset]
    )  # older requests waited while no worker ran, and were given up
    wanted = {email for email, moment in session.execute(taken).all() if moment > oldest}
    for user in session.scalars(select(User).where(User.email.in_(wanted))).all():
        if user.is_active:
            SecurityMail(session, settings).new_password(user, one_time_addresses.make_reset(session, user))
            record(session, "password.reset_requested", account=user)
    session.commit()
