"""Which jobs are there? One row each; times are in UTC."""

from __future__ import annotations

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from app.accounts import resets, sessions
from app.audit.retention import delete_old_entries
from app.config import Settings
from app.departures import purging
from app.jobs.destinations import check_destinations
from app.jobs.domains import check_proofs
from app.jobs.places import refresh_places
from app.jobs.reports import make_reports
from app.jobs.retention import forget_deliveries, forget_redeemed_tickets
from app.jobs.schedule import Scheduled
from app.links.emptying import purge
from app.links.strays import remove_strays
from app.transfer.tidying import tidy


def empty_trash(session: Session, _settings: Settings) -> None:
    engine = session.get_bind()
    assert isinstance(engine, Engine)  # noqa: S101  a scheduler's session has nothing else
    purge(engine)


TABLE: tuple[Scheduled, ...] = (
    Scheduled("trash", "*/10 * * * *", empty_trash),
    Scheduled("deleted users", "17 * * * *", purging.purge),
    Scheduled("sessions that are over", "33 * * * *", lambda session, _settings: sessions.sweep(session)),
    Scheduled("forgotten passwords", "34 * * * *", lambda session, _settings: resets.sweep(session)),
    Scheduled("tables taken in", "40 * * * *", lambda session, settings: tidy(session, settings.data_dir)),
    # whole hours of every time zone are quarters of an hour in UTC
    Scheduled("reports", "*/15 * * * *", make_reports),
    Scheduled("destinations", "* * * * *", check_destinations),
    Scheduled("old deliveries", "41 * * * *", forget_deliveries),
    Scheduled(
        "audit log",
        "47 * * * *",
        lambda session, settings: delete_old_entries(session, settings.audit_log_days),
    ),
    Scheduled("redeemed tickets", "42 * * * *", forget_redeemed_tickets),
    Scheduled("proofs of domains", "*/5 * * * *", check_proofs),
    Scheduled("stray pictures", "50 4 * * *", lambda session, _settings: remove_strays(session)),
    Scheduled("places", "23 4 * * *", refresh_places),
)
