"""Reports: exactly one for each period and handler, with the right figures, also after downtime or a kill."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from functools import partial

import pytest
import time_machine
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session

from app.accounts import services
from app.analytics.ingest import Ingest
from app.core.database import prepare_engine
from app.core.leases import precise_now
from app.jobs import reports
from app.jobs.reports import make_reports
from app.journal.codec import Visit, encode
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.links.models import link_notification_handler
from app.notifications import outbox
from app.notifications.models import Delivery
from tests.journal.children import Child, forks

pytestmark = pytest.mark.settings(BASE_URL="https://go.example")

MONDAY = dt.datetime(2026, 11, 16, 7, 0, tzinfo=dt.UTC)  # 08:00 in Berlin
DAY = dt.timedelta(days=1)


@pytest.fixture
def owner(session, alice):
    alice.timezone, alice.report_period = "Europe/Berlin", "daily"
    alice.report_since = MONDAY - 10 * DAY
    session.commit()
    return alice


@pytest.fixture
def attach(session):
    def attach(link, *handlers):
        rows = [{"link_id": link.id, "notification_handler_id": handler.id} for handler in handlers]
        session.execute(link_notification_handler.insert(), rows)
        session.commit()

    return attach


@pytest.fixture
def visit(settings):
    def visit(link, when: dt.datetime, times: int = 1, **more):
        journal = Journal(directory_of(settings.data_dir))
        for number in range(times):
            made = Visit(
                int(when.timestamp() * 1000) + number,
                link.id,
                link.workspace_id,
                0,
                visitor=f"{number:016x}",
                **more,
            )
            assert journal.append(encode(made))
        journal.close()
        ingest = Ingest(settings)
        while ingest.step():
            pass
        ingest.close()

    return visit


def run(session, settings, at: dt.datetime) -> None:
    session.commit()
    with time_machine.travel(at, tick=False):
        make_reports(session, settings)
        session.commit()


def made(session) -> list[tuple[int, str]]:
    session.rollback()
    rows = session.scalars(select(Delivery).order_by(Delivery.id))
    return [(row.handler_id, row.data["period"]["end_date"]) for row in rows if row.type == "link.report"]


@pytest.mark.databases
def test_a_report_for_each_handler_of_its_links(
    session, settings, owner, bob, make_link, make_handler, attach, visit
):
    first, second, quiet = make_link(owner, "first"), make_link(owner, "second"), make_link(owner, "quiet")
    both, one, off, none = (make_handler(owner) for _ in range(4))
    off.is_enabled = False
    attach(first, both, one, off)
    attach(second, both)
    attach(quiet, both, none)
    attach(make_link(bob, "bobs"), make_handler(bob))
    visit(first, MONDAY - DAY, 5, country_code="DE")
    visit(second, MONDAY - DAY, 7)
    visit(first, MONDAY - 2 * DAY, 10)
    visit(first, MONDAY, 3)  # belongs to the next day's
    run(session, settings, MONDAY)
    whole, part = session.scalars(select(Delivery).order_by(Delivery.handler_id).where(Delivery.datetime > MONDAY - DAY, Delivery.data["period"]["end_date"].as_string() == "2026-11-15"))  # fmt: skip
    assert (whole.handler_id, part.handler_id) == (both.id, one.id)
    assert [(row["link"]["url"], row["pageviews"]) for row in whole.data["reports"]] == [
        ("second", 7),
        ("first", 5),
    ]
    [report] = part.data["reports"]
    assert (report["pageviews"], report["visitors"], report["change_percent"]) == (5, 5, -50)
    assert report["link"]["short_url"] == "https://go.example/first"
    assert report["top"]["country_code"] == [{"country_code": "DE", "pageviews": 5, "visitors": 5}]
    assert none.id not in {handler_id for handler_id, _ in made(session)}


def test_each_period_once_also_after_a_pause(
    session, settings, owner, make_link, make_handler, attach, visit
):
    link, handler = make_link(owner), make_handler(owner)
    attach(link, handler)
    visit(link, MONDAY - 3 * DAY)
    owner.report_since = MONDAY - DAY
    run(session, settings, MONDAY - dt.timedelta(minutes=1))
    assert made(session) == []
    run(session, settings, MONDAY)
    run(session, settings, MONDAY)
    assert made(session) == [(handler.id, "2026-11-15")]
    run(session, settings, MONDAY + 3 * DAY)
    assert made(session)[1:] == [(handler.id, f"2026-11-{day}") for day in (16, 17, 18)]
    run(session, settings, MONDAY - DAY)  # the clock was set back
    run(session, settings, MONDAY + 3 * DAY)
    assert len(made(session)) == 4


def test_another_hour_or_zone_repeats_nothing_and_another_period_begins_now(
    session, settings, owner, make_link, make_handler, attach, visit
):
    link, handler = make_link(owner), make_handler(owner)
    attach(link, handler)
    visit(link, MONDAY - 3 * DAY)
    owner.report_since, owner.report_period = MONDAY - DAY, "weekly"
    run(session, settings, MONDAY)
    assert made(session) == [(handler.id, "2026-11-15")]
    for changes in ({"report_hour": 20}, {"timezone": "America/New_York"}, {"report_hour": 8}):
        services.update_user(owner, changes)
        run(session, settings, MONDAY + DAY)
    assert len(made(session)) == 1
    with time_machine.travel(MONDAY + DAY, tick=False):
        services.update_user(owner, {"report_period": "daily"})
    run(session, settings, MONDAY + DAY)
    assert len(made(session)) == 1
    run(session, settings, MONDAY + 2 * DAY)
    assert made(session)[1:] == [(handler.id, "2026-11-16")]  # at eight in New York
    services.update_user(owner, {"report_period": "never"})
    run(session, settings, MONDAY + 9 * DAY)
    assert len(made(session)) == 2


def test_over_the_end_of_summer_time(session, settings, owner, make_link, make_handler, attach, visit):
    link, handler = make_link(owner), make_handler(owner)
    attach(link, handler)
    owner.report_hour = 2  # on 25 October 2026 this hour occurs twice
    owner.report_since = dt.datetime(2026, 10, 24, 12, tzinfo=dt.UTC)
    midnight = dt.datetime(2026, 10, 24, 22, tzinfo=dt.UTC)
    visit(link, midnight + 12 * dt.timedelta(hours=1), 4)
    visit(link, midnight + 24.5 * dt.timedelta(hours=1), 2)  # in the day's 25th hour
    for hour in range(48):
        run(session, settings, midnight + hour * dt.timedelta(hours=1))
    assert [end for _, end in made(session)] == ["2026-10-24", "2026-10-25"]
    [row] = session.scalars(
        select(Delivery).where(Delivery.data["period"]["end_date"].as_string() == "2026-10-25")
    )
    assert row.data["reports"][0]["pageviews"] == 6


@pytest.mark.full
@forks
@pytest.mark.databases
def test_killed_at_whatever_step_there_is_one_report_each(
    session, settings, owner, make_link, make_handler, attach, visit, monkeypatch
):
    """Workers are killed right before and right after each delivery is made, and two run at once."""
    links, handlers = [make_link(owner) for _ in range(2)], [make_handler(owner) for _ in range(3)]
    for link in links:
        attach(link, *handlers)
        visit(link, MONDAY - 3 * DAY)
    owner.report_since = precise_now() - 3 * DAY
    session.commit()
    session.remove()
    for step in range(8):
        child = Child(partial(die_at, step, settings))
        other = Child(partial(die_at, step + 1, settings))
        assert {child.wait(), other.wait()} <= {0, 1, 9}
    die_at(10**6, settings)
    found = Counter(made(session))
    assert len(found) >= 2 * 3
    assert set(found.values()) == {1}


def die_at(step: int, settings) -> None:
    """A worker with its own connections that is killed in the middle of its `step`th delivery."""
    count = iter(range(10**9))

    def deliver(*arguments):
        if next(count) == step:
            os._exit(9)
        return outbox.deliver(*arguments)

    before, reports.deliver = reports.deliver, deliver
    engine = create_engine(settings.database_url)
    prepare_engine(engine, settings)
    with Session(engine) as session:
        make_reports(session, settings)
        session.commit()
    engine.dispose()
    reports.deliver = before
