"""Table of the scheduled jobs, with their times in UTC."""

from __future__ import annotations

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from app.accounts import sessions
from app.accounts.deletion import purging
from app.accounts.models import PasswordReset, SignInLink
from app.accounts.oidc import used_values
from app.accounts.one_time_addresses import sweep
from app.audit.services import delete_old_entries
from app.core.config import Settings
from app.events.subscriptions import ending
from app.import_export.services import tidy
from app.jobs.backups import scheduled_backups
from app.jobs.outbound import check_destinations, check_proofs, refresh_places
from app.jobs.reports import make_reports
from app.jobs.retention import forget_deliveries, forget_mails, forget_redeemed_tickets
from app.jobs.schedule import Scheduled
from app.links.favicons import remove_unused
from app.links.orphan_uploads import remove_strays
from app.links.removal import purge


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
