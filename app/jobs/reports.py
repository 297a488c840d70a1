"""Makes the reports that are due, with their figures.

Each period of each user is made once: its row is written in one transaction with its deliveries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import delete, exists, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.accounts.models import User, Workspace
from app.analytics import statistics
from app.analytics.dimensions import OVERVIEW
from app.analytics.statistics import StatisticsQuery, StatisticsResult
from app.core.config import Settings
from app.core.database import begin_read, begin_write
from app.core.error_boundary import ErrorBoundary
from app.core.leases import precise_now
from app.links.clicks import clicks_of
from app.links.models import Link, link_notification_handler
from app.links.schedule_events import described
from app.notifications.event_types import told_types
from app.notifications.events import REPORT
from app.notifications.models import NotificationHandler, Report
from app.notifications.outbox import deliver
from app.notifications.periods import CAUGHT_UP, NEVER, ReportPeriod, to_tell
from app.notifications.report import DIMENSIONS, TOP, Figures, data_of
from app.notifications.site import SiteUrls, site_of

FORGOTTEN = 2 * CAUGHT_UP  # after so long no period is looked at any more

errors = ErrorBoundary("reports")


def make_reports(session: Session, settings: Settings) -> None:
    """Makes all reports that are due. Run again, it makes those that are missing."""
    site = site_of(settings)
    # handlers of a deleted user go on in a workspace that others use
    table, is_here = NotificationHandler, Workspace.deleted_datetime.is_(None)
    has_handlers = exists().where(table.user_id == User.id, table.workspace_id == Workspace.id, is_here)
    wanted = User.report_period != NEVER, or_(User.deleted_datetime.is_(None), has_handlers)
    users = session.scalars(select(User).where(*wanted).order_by(User.id)).all()
    ids = [user.id for user in users]
    session.rollback()
    for user_id in ids:
        errors.run(user_id, make_reports_of, session, user_id, site)
        session.rollback()
    begin_write(session)
    session.execute(delete(Report).where(Report.start_date < (precise_now() - FORGOTTEN).date()))


def make_reports_of(session: Session, user_id: int, site: SiteUrls) -> None:
    user = session.get(User, user_id)
    if user is None:
        return  # gone meanwhile
    timezone, periods = user.timezone, periods_of(session, user)
    session.rollback()
    for period in periods:
        make_report(session, user_id, timezone, period, site)


def periods_of(session: Session, user: User) -> list[ReportPeriod]:
    """The due periods whose report is not made yet."""
    due = to_tell(
        user.report_period, user.report_hour, ZoneInfo(user.timezone), user.report_since, precise_now()
    )
    if not due:
        return []
    made = select(Report.start_date).where(Report.user_id == user.id, Report.period == user.report_period)
    done = set(session.scalars(made))
    return [period for period in due if period.start not in done]


def make_report(session: Session, user_id: int, timezone: str, period: ReportPeriod, site: SiteUrls) -> None:
    """Makes one period of one user: a delivery for each handler, with all of its links."""
    links = links_by_handler(session, user_id)
    wanted = sorted({link_id for ids in links.values() for link_id in ids})
    visited = [link_id for link_id, clicks in clicks_of(wanted, session).items() if clicks]
    shown = described(session, visited, site)
    workspaces = dict(session.execute(select(Link.id, Link.workspace_id).where(Link.id.in_(shown))).all())
    session.rollback()
    figures = {
        link_id: figures_of(session, workspace_id, shown[link_id], period, timezone)
        for link_id, workspace_id in workspaces.items()
    }
    begin_write(session)
    session.add(Report(user_id=user_id, period=period.name, start_date=period.start))
    try:
        session.flush()
    except IntegrityError:  # another worker was faster, or the user is gone
        session.rollback()
        return
    there = session.scalars(select(NotificationHandler.id).where(NotificationHandler.id.in_(links)))
    for handler_id in sorted(there):
        if mine := [figures[link_id] for link_id in links[handler_id] if link_id in figures]:
            deliver(session, handler_id, REPORT, data_of(period, timezone, mine))
    session.commit()


def links_by_handler(session: Session, user_id: int) -> Mapping[int, Sequence[int]]:
    """The links of each handler that is on and that this user made, who says how often it reports."""
    table = link_notification_handler
    rows = (
        select(NotificationHandler.id, NotificationHandler.events, Link.id)
        .join(table, table.c.notification_handler_id == NotificationHandler.id)
        .join(Link, Link.id == table.c.link_id)
        .join(Workspace, Workspace.id == Link.workspace_id)
        .where(NotificationHandler.user_id == user_id, NotificationHandler.is_enabled)
        .where(Workspace.deleted_datetime.is_(None))
        .order_by(NotificationHandler.id, Link.id)
    )
    found: dict[int, list[int]] = defaultdict(list)
    for handler_id, events, link_id in session.execute(rows):
        if REPORT in told_types(events):
            found[handler_id].append(link_id)
    return found


def figures_of(
    session: Session, workspace_id: int, link: Mapping[str, Any], period: ReportPeriod, timezone: str
) -> Figures:
    """The figures of one link, in a read transaction of its own: a long one would hold up checkpoints."""

    def ask(asked: ReportPeriod, type_: str = OVERVIEW) -> StatisticsResult:
        question = StatisticsQuery(
            workspace_id=workspace_id,
            link_ids=(link["id"],),
            start=asked.start,
            end=asked.end,
            zone=ZoneInfo(timezone),
            type=type_,
            limit=TOP,
        )
        return statistics.query_statistics(session, question)

    begin_read(session)
    now, before = ask(period), ask(period.previous())
    top = {name: ask(period, name).rows for name in DIMENSIONS} if now.pageviews else {}
    session.rollback()
    return Figures(
        link=link,
        days=now.rows,
        pageviews=now.pageviews,
        visitors=now.visitors,
        pageviews_before=before.pageviews,
        visitors_before=before.visitors,
        top=top,
    )
