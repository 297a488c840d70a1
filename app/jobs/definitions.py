"""Table of the scheduled jobs, with their times in UTC, and the jobs that remove rows kept for a while."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Engine, delete, select
from sqlalchemy.orm import Session

from app.accounts import sessions
from app.accounts.deletion import purging
from app.accounts.models import PasswordReset, SignInLink
from app.accounts.oidc import used_values
from app.accounts.one_time_addresses import sweep
from app.audit.services import delete_old_entries
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.events.subscriptions import ending
from app.import_export.services import tidy
from app.jobs.backups import scheduled_backups
from app.jobs.outbound import check_destinations, check_proofs, refresh_places
from app.jobs.reports import make_reports
from app.jobs.schedule import Scheduled
from app.links.favicons import remove_unused
from app.links.orphan_uploads import remove_strays
from app.links.removal import purge
from app.notifications.models import PENDING, Delivery, SystemEmail
from app.notifications.outbox import end_pending
from app.redirects.models import RedeemedTicket

RETENTION = dt.timedelta(days=30)
MAIL_RETENTION = dt.timedelta(days=7)
# beyond a ticket's own ten minutes: a clock that is set back must not make one good again
TICKET_RETENTION = dt.timedelta(days=1)
BATCH_SIZE = 500  # rows in a transaction, so that others can write in between

deliveries, tickets = ErrorBoundary("old deliveries"), ErrorBoundary("redeemed tickets")
mails = ErrorBoundary("old mails")


def forget_deliveries(session: Session, _settings: Settings) -> None:
    """Deletes old deliveries that have ended, with their attempts. Ends those whose handler is off first."""
    with deliveries.attempt("deliveries of handlers that are off"):
        begin_write(session)
        end_pending(session)
        session.commit()
    remove(session, deliveries, Delivery, Delivery.status != PENDING, Delivery.datetime < now() - RETENTION)


def forget_mails(session: Session, _settings: Settings) -> None:
    """Deletes mails from Waypost itself that were sent or given up, with their deliveries."""
    is_over = SystemEmail.id.in_(
        select(Delivery.letter_id).where(Delivery.letter_id.is_not(None), Delivery.status != PENDING)
    )
    remove(session, mails, SystemEmail, is_over, SystemEmail.datetime < now() - MAIL_RETENTION)


def forget_redeemed_tickets(session: Session, _settings: Settings) -> None:
    """Removes tickets that expired long ago."""
    remove(session, tickets, RedeemedTicket, RedeemedTicket.expires_datetime < now() - TICKET_RETENTION)


def remove(
    session: Session, errors: ErrorBoundary, model: type[Any], *conditions: ColumnElement[bool]
) -> None:
    """Deletes rows that meet all conditions, in batches. A row that can't be deleted holds up no other."""
    session.rollback()
    failing = errors.backed_off(model.id.type.python_type)
    after: tuple[ColumnElement[bool], ...] = ()
    while True:
        wanted = select(model.id).where(*conditions, *after, model.id.not_in(failing))
        ids = session.scalars(wanted.order_by(model.id).limit(BATCH_SIZE)).all()
        session.rollback()
        if not ids:
            return
        after = (model.id > ids[-1],)
        errors.each(ids, lambda some: remove_some(session, model, some))


def remove_some(session: Session, model: type[Any], ids: Sequence[int]) -> None:
    begin_write(session)
    session.execute(delete(model).where(model.id.in_(ids)))
    session.commit()


def empty_trash(session: Session, _settings: Settings) -> None:
    engine = session.get_bind()
    assert isinstance(engine, Engine)  # noqa: S101  a scheduler's session has nothing else
    purge(engine)


TABLE: tuple[Scheduled, ...] = (
    Scheduled("trash", "*/10 * * * *", empty_trash),
    Scheduled("deleted users", "17 * * * *", purging.purge),
    Scheduled("sessions that are over", "33 * * * *", lambda session, _settings: sessions.sweep(session)),
    Scheduled("forgotten passwords", "34 * * * *", lambda session, _settings: sweep(session, PasswordReset)),
    Scheduled("sign-in links", "35 * * * *", lambda session, _settings: sweep(session, SignInLink)),
    Scheduled("used values", "36 * * * *", lambda session, _settings: used_values.sweep(session)),
    Scheduled(
        "tables taken in",
        "40 * * * *",
        lambda session, settings: tidy(session, settings.data_dir),
        is_of_machine=True,
    ),
    # whole hours of every time zone are quarters of an hour in UTC
    Scheduled("reports", "*/15 * * * *", make_reports),
    Scheduled("destinations", "* * * * *", check_destinations),
    Scheduled("subscriptions that are over", "* * * * *", lambda session, _settings: ending.sweep(session)),
    Scheduled("old deliveries", "41 * * * *", forget_deliveries),
    Scheduled("old mails", "43 * * * *", forget_mails),
    Scheduled(
        "audit log",
        "47 * * * *",
        lambda session, settings: delete_old_entries(session, settings.audit_log_days),
    ),
    Scheduled("redeemed tickets", "42 * * * *", forget_redeemed_tickets),
    Scheduled("proofs of domains", "*/5 * * * *", check_proofs),
    Scheduled(
        "stray pictures", "50 4 * * *", lambda session, _settings: remove_strays(session), is_of_machine=True
    ),
    Scheduled("unused icons", "55 4 * * *", lambda session, _settings: remove_unused(session)),
    Scheduled("places", "23 4 * * *", refresh_places, is_of_machine=True),
)


def jobs_of(settings: Settings) -> tuple[Scheduled, ...]:
    """The jobs of an instance with these settings."""
    return (*TABLE, *scheduled_backups(settings))
