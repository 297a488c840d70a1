"""Finding and claiming of due deliveries, with all that a thread needs to send them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session, joinedload

from app.accounts.models import User, Workspace
from app.core.database import AnySession, begin_write
from app.core.encryption import UnreadableSecret
from app.core.error_boundary import ErrorBoundary
from app.core.leases import claim, is_due, is_free, precise_now
from app.core.scheduling import giving_way
from app.i18n.languages import DEFAULT, in_language
from app.notifications import system_email
from app.notifications.composing import composer_of
from app.notifications.confirmation import refusal_of
from app.notifications.handler_queue import ClaimedDelivery, Receiver
from app.notifications.message import Message
from app.notifications.models import Delivery, NotificationHandler
from app.notifications.outbox import OWN, put_off
from app.notifications.site import SiteUrls
from app.notifications.subscribed import may_receive
from app.notifications.transport import all_transports
from app.notifications.unsubscribe import stop_url

MAX_DUE = 500


class DueDelivery(NamedTuple):
    """A delivery that is due, with its handler's id and workspace, or OWN.

    `is_failing`: the last attempt there failed.
    """

    id: int
    handler_id: int
    workspace_id: int
    is_failing: bool


def find(
    session: Session, now: dt.datetime, without: Collection[int], *, only_healthy: bool = False
) -> Sequence[DueDelivery]:
    """Due deliveries without a lease: those of healthy handlers first, then by turns of workspaces.

    The deliveries of a workspace, and the workspaces in a turn, are in the order in which they came due.
    """
    failing = NotificationHandler.failing_since.is_not(None)
    handler_id = func.coalesce(Delivery.handler_id, OWN)
    workspace_id = func.coalesce(NotificationHandler.workspace_id, OWN)
    turn = func.row_number().over(partition_by=(failing, workspace_id), order_by=(Delivery.due, Delivery.id))
    takes = and_(NotificationHandler.is_enabled, Workspace.deleted_datetime.is_(None), may_receive())
    due = (
        select(Delivery.id, handler_id, workspace_id, failing)
        .outerjoin(NotificationHandler)
        .outerjoin(Workspace, Workspace.id == NotificationHandler.workspace_id)
        .where(is_due(Delivery, now), is_free(Delivery, now), or_(Delivery.letter_id.is_not(None), takes))
        .order_by(failing, turn, Delivery.due)
        .limit(MAX_DUE)
    )
    if without:
        due = due.where(handler_id.not_in(without))
    if only_healthy:
        due = due.where(~failing)
    return [
        DueDelivery(id_, handler_id, workspace_id, bool(is_failing))
        for id_, handler_id, workspace_id, is_failing in session.execute(due)
    ]


def receivers_of(session: Session, handler_ids: Collection[int]) -> dict[int, Receiver]:
    """Where these handlers send to, and of which workspaces they are."""
    columns = (
        NotificationHandler.id,
        NotificationHandler.workspace_id,
        NotificationHandler.type,
        NotificationHandler.settings,
    )
    found = {id_: Receiver(OWN, "") for id_ in handler_ids}  # mails from Waypost itself have no handler
    rows = session.execute(select(*columns).where(NotificationHandler.id.in_(handler_ids)))
    for id_, workspace_id, type_, settings in rows:
        found[id_] = Receiver(workspace_id, all_transports()[type_].host_of(settings) or type_)
    return found


class DeliveryLag(NamedTuple):
    """How many deliveries are due, and for how many seconds the oldest one has been."""

    waiting: int
    seconds: float


def lag(session: AnySession) -> DeliveryLag:
    """How far behind deliveries are. One that is being sent counts until its result is stored."""
    now = precise_now()
    due = select(func.count(), func.min(Delivery.due)).where(Delivery.due <= now)
    count, oldest = session.execute(due).one()
    return DeliveryLag(count, (now - oldest).total_seconds() if oldest else 0.0)


def take(
    session: Session, ids: Sequence[int], who: str, site: SiteUrls, errors: ErrorBoundary
) -> list[ClaimedDelivery]:
    """Claim these deliveries; returns those that were free, ready to be sent.

    One whose message can't be made counts as a failed attempt.
    """
    begin_write(session)
    taken = claim(session, Delivery, ids, who, precise_now())
    session.commit()
    claimed: list[ClaimedDelivery] = []
    failed = errors.each(taken, lambda some: claimed.extend(claimed_deliveries(session, some, site)))
    session.rollback()
    for id_, _ in failed:
        with errors.attempt():
            put_off(session, id_)
    return claimed


def claimed_deliveries(session: Session, ids: Sequence[int], site: SiteUrls) -> list[ClaimedDelivery]:
    session.rollback()
    rows = select(Delivery).where(Delivery.id.in_(ids))
    rows = rows.options(joinedload(Delivery.handler), joinedload(Delivery.system_email))
    found = session.scalars(rows.order_by(Delivery.due, Delivery.id))
    return [claimed_delivery(session, row, site) for row in giving_way(found)]


def claimed_delivery(session: Session, row: Delivery, site: SiteUrls) -> ClaimedDelivery:
    if row.letter_id is not None:
        # without fields the attempt fails as unreadable, and the mail is tried again, perhaps with its key
        fields = (
            {}
            if isinstance(row.system_email.content, UnreadableSecret)
            else {"email": row.system_email.email}
        )
        email = system_email.message_of(row.system_email, row.webhook_id)
        return ClaimedDelivery(row.id, OWN, "email", fields, email, tries=row.tries)
    handler = row.handler
    owner = session.get_one(User, handler.user_id)
    message = replace(message_of(row, site, owner.language), stop_url=stop_url(handler, site))
    return ClaimedDelivery(
        row.id, handler.id, handler.type, dict(handler.settings), message, refusal_of(handler), row.tries
    )


def message_of(delivery: Delivery, site: SiteUrls, language: str = DEFAULT) -> Message:
    """The message of a delivery. It is the same on every attempt, because only stored values are used."""
    compose = composer_of(delivery.type)
    with in_language(language):
        message = compose(delivery.webhook_id, delivery.type, delivery.datetime, delivery.data, site)
    return replace(message, language=language)
