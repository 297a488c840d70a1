"""Which jobs are there? One row each; times are in UTC."""

from __future__ import annotations

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from app.config import Settings
from app.jobs.reports import make_reports
from app.jobs.schedule import Scheduled
from app.links.emptying import purge


def empty_trash(session: Session, _settings: Settings) -> None:
    engine = session.get_bind()
    assert isinstance(engine, Engine)  # noqa: S101  a scheduler's session has nothing else
    purge(engine)


TABLE: tuple[Scheduled, ...] = (
    Scheduled("trash", "*/10 * * * *", empty_trash),
    # whole hours of every time zone are quarters of an hour in UTC
    Scheduled("reports", "*/15 * * * *", make_reports),
)
