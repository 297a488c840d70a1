"""Deletes a user's account, and restores it within 30 days.

Nothing is removed yet: the user's row is marked as deleted, and sign-in, API, redirects and messages all
check that mark. 30 days later `purging.py` removes the data.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, delete, insert, update

from app.accounts import standing, workspaces
from app.accounts.models import User
from app.audit.services import record
from app.core.clock import now
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.events.subscriptions.ending import end_of_user
from app.i18n.messages import lazy_gettext as _l
from app.import_export.models import UNFINISHED, Archive, LinkImport
from app.links.models import PlanChange
from app.notifications.models import SystemEmail
from app.notifications.outbox import end_pending

LAST = _l("You are the last admin, and others use this instance. Make one of them admin first.")


def leave(user: User) -> None:
    """Marks the user as deleted: no session, key, link or message works from now on.

    Workspaces that the user had alone go with the account, shared ones stay. Raises Invalid for the last
    admin, unless there is no other account, and LastOwner for the last owner of a shared workspace.
    """
    standing.hold(user)
    if user.deleted_datetime is not None:
        return
    if user.is_admin and standing.has_company(user):
        require_successor(user)
    user.deleted_datetime = now()
    for member in workspaces.leave_all(user):
        end_of_user(db.session, member.workspace_id, user.id)
    record(db.session, "user.deleted", account=user)
    standing.end_sessions(user)
    end_pending(db.session)
    end_imports(LinkImport.user_id == user.id)
    for model in (SystemEmail, Archive):  # an archive's file is removed by the sweep
        db.session.execute(delete(model).where(model.user_id == user.id))
    drop_plans()


def require_successor(user: User) -> None:
    try:
        standing.require_another_admin(user)
    except standing.LastAdmin:
        raise Invalid(FieldError(LAST, "last_admin")) from None


def come_back(user: User) -> None:
    """Restores the account with all links and keys. Pending deliveries and imports stay ended.

    Raises NotFound when the 30 days are over.
    """
    standing.hold(user)
    if user.deleted_datetime is not None:
        record(db.session, "user.restored", account=user)
        workspaces.restore_all(user)
    user.deleted_datetime = None
    db.session.flush()
    drop_plans()


def end_imports(mine: ColumnElement[bool]) -> None:
    """Ends these imports. A process that runs one sees that at its next step, and stops."""
    ended = update(LinkImport).where(mine, LinkImport.state.in_(UNFINISHED)).values(state="ended")
    db.session.execute(ended, execution_options={"synchronize_session": False})


def drop_plans() -> None:
    """Drops all compiled links in every process: one row for each of the links could be too many."""
    db.session.execute(insert(PlanChange.__table__), [{"domain_id": None, "alias": None}])
