"""What happens at the moment a user is deleted, and how does it come undone?

Nothing is removed yet: the row says that its user has left, and all that serves or tells anybody anything
asks for that. 30 days later `purging.py` removes what there is.
"""

from __future__ import annotations

from sqlalchemy import delete, insert, update

from app.accounts import standing
from app.accounts.models import User
from app.audit.services import record
from app.clock import now
from app.errors import FieldError, Invalid
from app.extensions import db
from app.links.models import PlanChange
from app.notifications.models import Letter
from app.notifications.outbox import end_pending
from app.transfer.models import Archive, LinkImport
from app.transfer.services import UNFINISHED

LAST = "You are the last admin, and others use this Waypost. Make one of them admin first."


def leave(user: User) -> None:
    """Deleted: no session, no key, no link and no message from now on. Raises Invalid for the last admin,
    unless there is nobody else."""
    standing.hold(user)
    if user.deleted_datetime is not None:
        return
    if user.is_admin and standing.has_company(user):
        require_successor(user)
    user.deleted_datetime = now()
    record(db.session, "user.deleted", account=user)
    standing.end_sessions(user)
    end_pending(db.session)
    end_imports(user)
    for model in (Letter, Archive):  # whose file is swept
        db.session.execute(delete(model).where(model.user_id == user.id))
    drop_plans()


def require_successor(user: User) -> None:
    try:
        standing.require_another_admin(user)
    except standing.LastAdmin:
        raise Invalid(FieldError(LAST, "last_admin")) from None


def come_back(user: User) -> None:
    """As before, with all links and keys; what had waited to be sent, and imports, do not go on. Raises
    NotThere when the 30 days are over."""
    standing.hold(user)
    if user.deleted_datetime is not None:
        record(db.session, "user.restored", account=user)
    user.deleted_datetime = None
    db.session.flush()
    drop_plans()


def end_imports(user: User) -> None:
    """A process that is at one finds it ended at its next step, and stops."""
    mine = LinkImport.user_id == user.id, LinkImport.state.in_(UNFINISHED)
    ended = update(LinkImport).where(*mine).values(state="ended")
    db.session.execute(ended, execution_options={"synchronize_session": False})


def drop_plans() -> None:
    """In every process, all of them: a row for each of a user's links could be very many."""
    db.session.execute(insert(PlanChange.__table__), [{"domain_id": None, "alias": None}])
