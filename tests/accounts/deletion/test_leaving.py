"""Deletion of a user: nothing of them works from that moment on, and everything does after a restore."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.deletion import leaving
from app.accounts.models import User
from app.accounts.standing import RETENTION
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.errors import NotFound
from app.core.extensions import db
from app.core.leases import precise_now
from app.jobs.reports import make_reports
from app.links import destination_checks
from app.links.notification_dispatch import tell
from app.notifications import waiting
from app.notifications.events import ENDED, raise_event
from app.notifications.models import Delivery, Report
from app.notifications.outbox import deliver
from app.notifications.site import site_of
from tests.redirects.conftest import desk, front, person
from tests.writes import write

__all__ = ["desk", "front", "person"]
pytestmark = pytest.mark.databases


def test_nothing_is_sent_any_more(session: Session, bob: User, factory: Any, settings: Settings) -> None:
    handler = factory.handler(bob)
    link = factory.link(bob, datetime=now() - dt.timedelta(days=60))
    link.handlers = [handler]
    bob.checks_destinations, bob.report_since = True, now() - dt.timedelta(days=60)
    deliver(session, handler.id, ENDED, {})
    taken = deliver(session, handler.id, ENDED, {})
    taken.lease, taken.who = precise_now() + dt.timedelta(seconds=30), "somebody"
    session.commit()
    write(leaving.leave, bob)
    states = {row.status for row in session.scalars(select(Delivery).where(Delivery.id != taken.id))}
    assert states == {"failed"}
    session.refresh(taken)
    taken.lease = None  # its try has failed, and would be repeated
    raise_event(session.connection(), ENDED, link.id, {})
    session.commit()
    assert waiting.find(session, precise_now(), []) == []
    assert tell(session, site_of(settings))  # the event is taken from the outbox, and no delivery follows
    destination_checks.enrol(session)
    assert destination_checks.due(session, 10) == []
    make_reports(session, settings)
    session.commit()
    assert session.scalars(select(Report)).all() == []
    assert len(session.scalars(select(Delivery)).all()) == 2


def test_after_thirty_days_nobody_comes_back(session: Session, bob: User) -> None:
    write(leaving.leave, bob)
    bob.deleted_datetime = now() - RETENTION
    session.commit()
    begin_write(db.session)
    with pytest.raises(NotFound):
        leaving.come_back(bob)
