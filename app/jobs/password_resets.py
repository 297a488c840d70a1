"""Password resets: the worker looks up the requested addresses and writes the mails.

The web request stores only the address, whether it has an account or not. So neither its response nor its
duration tells whether there is an account.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.accounts import resets
from app.accounts.models import PasswordRequest, User
from app.audit.services import record
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.notifications.security_email import SecurityMail

BATCH_SIZE = 50
errors = ErrorBoundary("forgotten passwords")


def answer_forgotten(session: Session, settings: Settings) -> bool:
    """Writes the mails of waiting requests and deletes these. Returns whether there were any."""
    wanted = select(PasswordRequest.id).where(PasswordRequest.id.not_in(errors.backed_off(int)))
    ids = session.scalars(wanted.order_by(PasswordRequest.id).limit(BATCH_SIZE)).all()
    errors.each(ids, lambda some: answer_some(session, settings, some))
    session.rollback()
    return bool(ids)


def answer_some(session: Session, settings: Settings, ids: Sequence[int]) -> None:
    """Writes the mails of these requests, all or none."""
    begin_write(session)
    mine = PasswordRequest.id.in_(ids)
    taken = delete(PasswordRequest).where(mine).returning(PasswordRequest.email, PasswordRequest.datetime)
    oldest = now() - resets.GOOD_FOR  # older requests waited while no worker ran, and were given up
    wanted = {email for email, moment in session.execute(taken).all() if moment > oldest}
    for user in session.scalars(select(User).where(User.email.in_(wanted))).all():
        if user.is_active:
            SecurityMail(session, settings).new_password(user, resets.ask(session, user))
            record(session, "password.reset_requested", account=user)
    session.commit()
