"""Who asked for a new password, and has an account?

The request has written down the address alone, whether anybody has it or not: neither what it does nor how
long it takes tells who has an account. That is seen to here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.accounts import resets
from app.accounts.models import PasswordRequest, User
from app.audit.services import record
from app.clock import now
from app.config import Settings
from app.database import begin_write
from app.error_boundary import ErrorBoundary
from app.notifications.security import SecurityMail

AT_ONCE = 50
errors = ErrorBoundary("forgotten passwords")


def answer_forgotten(session: Session, settings: Settings) -> bool:
    """Write the mails of those that wait, each with the row that goes; whether there was any."""
    wanted = select(PasswordRequest.id).where(PasswordRequest.id.not_in(errors.backed_off(int)))
    ids = session.scalars(wanted.order_by(PasswordRequest.id).limit(AT_ONCE)).all()
    errors.each(ids, lambda some: answer_some(session, settings, some))
    session.rollback()
    return bool(ids)


def answer_some(session: Session, settings: Settings, ids: Sequence[int]) -> None:
    """The mails of these requests, all or none."""
    begin_write(session)
    mine = PasswordRequest.id.in_(ids)
    taken = delete(PasswordRequest).where(mine).returning(PasswordRequest.email, PasswordRequest.datetime)
    oldest = now() - resets.GOOD_FOR  # who asked before, and there was no worker, has given up
    wanted = {email for email, moment in session.execute(taken).all() if moment > oldest}
    for user in session.scalars(select(User).where(User.email.in_(wanted))).all():
        if user.is_active:
            SecurityMail(session, settings).new_password(user, resets.ask(session, user))
            record(session, "password.reset_requested", account=user)
    session.commit()
