"""The workers of three machines do the same at the same moment, on one PostgreSQL: all is done once."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, func, select
from sqlalchemy.orm import Session

from app.accounts.models import PasswordRequest, User
from app.analytics.ingest import Ingest
from app.core.clock import now
from app.core.config import Settings
from app.core.database import engine_options, prepare_engine
from app.core.error_boundary import boundaries
from app.jobs.mails import answer_forgotten, post_confirmations
from app.jobs.reports import make_reports
from app.journal.codec import Visit, encode
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.links.models import link_notification_handler
from app.links.schedule_events import tell, tell_moments
from app.notifications.events import STARTED, raise_event
from app.notifications.models import Delivery, Event, Report, SystemEmail
from app.notifications.site import site_of
from app.rate_limit.limiter import RateLimiter
from tests.analytics.conftest import take_in
from tests.factories import Factory

pytestmark = [
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
    pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:1", BASE_URL="https://go.example"),
]
MACHINES = 3
ITEMS = 40


@pytest.fixture
def at_once(settings: Settings) -> Iterator[Callable[[Callable[[Session], object]], None]]:
    """Runs a piece of work on three machines at once, until each finds nothing to do."""
    engines: list[Engine] = []
    for _ in range(MACHINES):
        engine = create_engine(settings.database_url, **engine_options(settings))
        prepare_engine(engine, settings)
        engines.append(engine)
    barrier = threading.Barrier(MACHINES)

    def work(engine: Engine, run: Callable[[Session], object]) -> None:
        barrier.wait(30)
        has_more = True
        while has_more:
            with Session(engine) as session:
                has_more = bool(run(session))

    def at_once(run: Callable[[Session], object]) -> None:
        with ThreadPoolExecutor(MACHINES) as pool:
            for future in [pool.submit(work, engine, run) for engine in engines]:
                future.result(60)
        failing = {boundary.loop: boundary.backed_off(object) for boundary in boundaries}
        assert {loop: found for loop, found in failing.items() if found} == {}, "nothing fails meanwhile"

    yield at_once
    for engine in engines:
        engine.dispose()


def count(session: Session, model: Any) -> int:
    session.rollback()
    return session.scalar(select(func.count()).select_from(model)) or 0


def test_events_become_deliveries_once(
    session: Session, settings: Settings, alice: User, factory: Factory, at_once: Any
) -> None:
    link, handler = factory.link(alice, "a"), factory.handler(alice)
    session.execute(
        link_notification_handler.insert(), [{"link_id": link.id, "notification_handler_id": handler.id}]
    )
    for number in range(ITEMS):
        raise_event(session, STARTED, link.id, {"number": number})
    session.commit()
    site = site_of(settings)
    at_once(lambda other: tell(other, site))
    session.rollback()
    numbers = [row.data["number"] for row in session.scalars(select(Delivery))]
    assert sorted(numbers) == list(range(ITEMS))
    assert count(session, Event) == 0


def test_the_start_of_a_link_is_an_event_once(
    session: Session, alice: User, factory: Factory, at_once: Any
) -> None:
    moment = now() - dt.timedelta(seconds=1)
    ids = [factory.link(alice, start_date=moment, start_due=moment).id for _ in range(ITEMS)]
    at_once(tell_moments)
    session.rollback()
    assert sorted(session.scalars(select(Event.link_id))) == sorted(ids)


def test_a_forgotten_password_is_one_mail(
    session: Session, settings: Settings, factory: Factory, at_once: Any
) -> None:
    emails = [factory.user().email for _ in range(10)]
    session.add_all(PasswordRequest(email=email) for email in emails)
    session.commit()
    at_once(lambda other: answer_forgotten(other, settings))
    session.rollback()
    assert sorted(session.scalars(select(SystemEmail.email))) == sorted(emails)
    assert count(session, PasswordRequest) == 0


def test_a_confirmation_is_one_mail(
    session: Session, settings: Settings, alice: User, factory: Factory, at_once: Any
) -> None:
    emails = [f"receiver{number}@example.com" for number in range(10)]
    for email in emails:
        factory.handler(alice, settings={"email": email}, is_confirmed=False, confirmation_due=now())
    limiter = RateLimiter(settings)
    at_once(lambda other: post_confirmations(other, settings, limiter))
    limiter.close()
    session.rollback()
    assert sorted(session.scalars(select(SystemEmail.email))) == sorted(emails)


def test_a_report_is_made_once(
    session: Session, settings: Settings, alice: User, factory: Factory, at_once: Any
) -> None:
    link, handler = factory.link(alice, "a"), factory.handler(alice)
    session.execute(
        link_notification_handler.insert(), [{"link_id": link.id, "notification_handler_id": handler.id}]
    )
    alice.report_period, alice.report_since = "daily", now() - dt.timedelta(days=3)
    session.commit()
    journal, ingest = Journal(directory_of(settings.data_dir)), Ingest(settings)
    journal.append(encode(Visit(int(now().timestamp() * 1000), link.id, alice.id, 0, visitor="v")))
    journal.close()
    take_in(ingest)
    ingest.close()

    def make(other: Session) -> None:
        make_reports(other, settings)
        other.commit()

    at_once(make)
    assert count(session, Report) == count(session, Delivery) > 0
