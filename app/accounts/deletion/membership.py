"""Ends memberships, and switches off handlers, subscriptions and share addresses of former members."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Select, select

from app.accounts import workspaces
from app.accounts.models import User, WorkspaceMember
from app.analytics.sharing import services as shares
from app.analytics.sharing.models import StatisticsShare
from app.core.extensions import db
from app.events.push import handlers
from app.events.subscriptions.ending import end_of_user, end_over
from app.notifications.models import NotificationHandler
from app.notifications.subscribed import is_subscription

HANDLERS, SUBSCRIPTIONS, SHARES = "handlers", "subscriptions", "shares"


def outgoing(workspace_id: int, user_id: int) -> Mapping[str, Sequence[Any]]:
    """A user's rows in a workspace that send or show data outside of it, by kind. Omits empty kinds."""
    handler, share = NotificationHandler, StatisticsShare
    mine = handler.workspace_id == workspace_id, handler.user_id == user_id
    of_shares = share.workspace_id == workspace_id, share.user_id == user_id, shares.is_usable()
    wanted: Mapping[str, Select[Any]] = {
        HANDLERS: select(handler).where(*mine, handler.is_enabled, ~is_subscription()),
        SUBSCRIPTIONS: select(handler).where(*mine, is_subscription()),
        SHARES: select(share).where(*of_shares),
    }
    found = {kind: db.session.scalars(rows).all() for kind, rows in wanted.items()}
    return {kind: rows for kind, rows in found.items() if rows}


def remove_member(member: WorkspaceMember, kept: Collection[str] = (), heir: User | None = None) -> None:
    """End a membership and switch off the member's outgoing rows, except the kinds in `kept`.

    `heir` takes over kept subscriptions, because the member's key ends. Raises LastOwner. The caller has
    begun the write, and commits.
    """
    workspace_id, user_id = member.workspace_id, member.user_id
    workspaces.remove_member(member)
    found = outgoing(workspace_id, user_id)
    for row in found.get(HANDLERS, ()) if HANDLERS not in kept else ():
        handlers.update(row, {"is_enabled": False})
    for row in found.get(SHARES, ()) if SHARES not in kept else ():
        shares.revoke(row)
    if SUBSCRIPTIONS in kept and heir is not None:
        for row in found.get(SUBSCRIPTIONS, ()):
            row.user_id, row.api_key_id = heir.id, None
        db.session.flush()
    else:
        end_of_user(db.session, workspace_id, user_id)


def change_role(member: WorkspaceMember, role: str) -> None:
    """Give a member another role, and end subscriptions that the role does not allow. Raises LastOwner."""
    workspaces.change_role(member, role)
    end_over(db.session)
