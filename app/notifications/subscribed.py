"""Rights of subscriptions: each lasts as long as the API key that made it may write."""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, exists, or_

from app.accounts.access import RIGHTS
from app.accounts.models import ApiKey, User, WorkspaceMember
from app.core.clock import now
from app.notifications.models import NotificationHandler
from app.notifications.transport import all_transports


def is_subscription() -> ColumnElement[bool]:
    types = [type_ for type_, transport in all_transports().items() if transport.is_subscription]
    return NotificationHandler.type.in_(types)


def may_receive() -> ColumnElement[bool]:
    """The condition for handlers that may be sent to: all but subscriptions without a right to go on.

    A subscription waits while its user's account is disabled or deleted.
    """
    is_awake = exists().where(
        User.id == NotificationHandler.user_id,
        User.disabled_datetime.is_(None),
        User.deleted_datetime.is_(None),
    )
    return or_(~is_subscription(), and_(has_right(), is_awake))


def is_over() -> ColumnElement[bool]:
    """The condition for subscriptions whose right has ended for good."""
    return and_(is_subscription(), ~has_right())


def has_right() -> ColumnElement[bool]:
    """Whether a subscription's user may write in its workspace, and so may the key that made it, if known."""
    table = NotificationHandler
    is_writer = exists().where(
        WorkspaceMember.workspace_id == table.workspace_id,
        WorkspaceMember.user_id == table.user_id,
        WorkspaceMember.role.in_(RIGHTS["write"]),
    )
    key_works = exists().where(
        ApiKey.id == table.api_key_id,
        ApiKey.workspace_id == table.workspace_id,
        ApiKey.user_id == table.user_id,
        ApiKey.revoked_datetime.is_(None),
        or_(ApiKey.expires_datetime.is_(None), ApiKey.expires_datetime > now()),
    )
    return and_(is_writer, or_(table.api_key_id.is_(None), key_works))
