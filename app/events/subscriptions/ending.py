"""End of subscriptions, which goes with the right of the API key that made them."""

from __future__ import annotations

from sqlalchemy import ColumnElement, select

from app.audit.services import Object, record
from app.core.database import AnySession, begin_write
from app.notifications.models import NotificationHandler
from app.notifications.subscribed import is_over, is_subscription


def end_over(session: AnySession) -> None:
    """Delete the subscriptions whose key, or its user, may not write any more. Does not commit.

    Nothing is sent to them even before: `may_receive` decides that for each delivery.
    """
    end(session, is_over())


def end_of_user(session: AnySession, workspace_id: int, user_id: int) -> None:
    """Delete the subscriptions that a user's keys made in a workspace. Does not commit."""
    table = NotificationHandler
    end(session, is_subscription(), table.workspace_id == workspace_id, table.user_id == user_id)


def end(session: AnySession, *which: ColumnElement[bool]) -> None:
    rows = select(NotificationHandler).where(*which).order_by(NotificationHandler.id)
    for row in session.scalars(rows.with_for_update()).all():
        on = Object("notification_handler", row.id, row.name)
        record(
            session,
            "handler.subscription_ended",
            owner_id=row.user_id,
            workspace_id=row.workspace_id,
            on=on,
            type=row.type,
        )
        session.delete(row)
    session.flush()


def sweep(session: AnySession) -> None:
    """Delete the subscriptions that have ended with time, as by the expiry of their key."""
    found = session.scalar(select(NotificationHandler.id).where(is_over()).limit(1))
    session.rollback()
    if found is not None:
        begin_write(session)
        end_over(session)
