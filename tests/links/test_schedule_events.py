"""Schedule events: one event when a link starts or ends, and none for dates that were set in the past."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
import time_machine
from sqlalchemy import select, text

from app.accounts.workspaces import access_of
from app.core.clock import now
from app.links import services
from app.links.schedule_events import due_links, tell_moments
from app.notifications.models import Event
from app.trash.models import Trashed

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def start() -> dt.datetime:
    return now()


def link_of(user, **changes: Any):
    return services.create(
        access_of(user), {"location_url": "https://example.com/", "schedule": True, **changes}
    )


def told(session, at: dt.datetime) -> list[tuple[str, int]]:
    """The events that are raised at a moment. It runs twice, because there may be two workers."""
    session.commit()
    with time_machine.travel(at, tick=False):
        tell_moments(session)
        tell_moments(session)
    rows = session.scalars(select(Event).order_by(Event.id)).all()
    found = [(row.type.removeprefix("link."), row.link_id) for row in rows]
    for row in rows:
        session.delete(row)
    session.commit()
    return found


@pytest.mark.databases
def test_each_date_is_told_once_when_it_comes(session, alice, start):
    link = link_of(alice, start_date=start + HOUR, end_date=start + 2 * HOUR)
    assert told(session, start + HOUR / 2) == []
    assert told(session, start + HOUR) == [("started", link.id)]
    assert told(session, start + 2 * HOUR) == [("ended", link.id)]
    assert told(session, start + 9 * HOUR) == []


def test_a_worker_that_was_away_tells_both_in_their_order(session, alice, start):
    link = link_of(alice, start_date=start + HOUR, end_date=start + 2 * HOUR)
    assert told(session, start + 9 * HOUR) == [("started", link.id), ("ended", link.id)]


def test_a_clock_that_was_a_day_ahead_tells_nothing_twice_and_misses_nothing(session, alice, start):
    first = link_of(alice, start_date=start + HOUR)
    assert told(session, start + 24 * HOUR) == [("started", first.id)]
    second = link_of(alice, start_date=start + 2 * HOUR)
    assert told(session, start + HOUR) == []
    assert told(session, start + 2 * HOUR) == [("started", second.id)]


def test_what_is_past_when_it_is_set_is_not_told(session, alice, start):
    link = link_of(alice, start_date=start - HOUR)
    services.update(link, {"end_date": start - HOUR / 2})
    assert told(session, start + HOUR) == []


def test_another_date_is_told_anew_and_other_changes_leave_it(session, alice, start):
    link = link_of(alice, start_date=start + HOUR)
    services.update(link, {"title": "A title"})
    assert told(session, start + HOUR) == [("started", link.id)]
    services.update(link, {"title": "Another title"})
    services.update(link, {"start_date": start + 5 * HOUR})
    assert told(session, start + 4 * HOUR) == []
    assert told(session, start + 5 * HOUR) == [("started", link.id)]


def test_a_change_just_before_it_is_told_does_not_lose_it(session, alice, start):
    link = link_of(alice, start_date=start + HOUR)
    session.commit()
    with time_machine.travel(start + HOUR, tick=False):
        services.update(link, {"title": "A title"})
    assert told(session, start + HOUR) == [("started", link.id)]


@pytest.mark.parametrize(
    "changes", [{"schedule": False, "start_date": None, "end_date": None}, {"is_enabled": False}]
)
def test_a_link_that_is_off_or_without_dates_tells_nothing(session, alice, start, changes):
    link = link_of(alice, start_date=start + HOUR)
    services.update(link, changes)
    assert told(session, start + HOUR) == []


def test_what_came_in_the_trash_is_not_told_when_it_comes_back(session, alice, start):
    link_of(alice, start_date=start + HOUR)
    kept = link_of(alice, start_date=start + 3 * HOUR)
    services.delete_many(access_of(alice).workspace_id, [kept.id - 1, kept.id])
    session.commit()
    with time_machine.travel(start + 2 * HOUR, tick=False):
        services.restore_many(session.scalars(select(Trashed)).all())
    assert told(session, start + 2 * HOUR) == []
    assert told(session, start + 3 * HOUR) == [("started", kept.id)]


def test_looking_for_them_does_not_read_all_links(session):
    if session.get_bind().dialect.name != "sqlite":
        pytest.skip("the plan of SQLite")
    query = due_links(now()).compile(session.get_bind(), compile_kwargs={"literal_binds": True})
    steps = [step.detail for step in session.execute(text(f"EXPLAIN QUERY PLAN {query}"))]
    assert any("ix_link_start_due" in step for step in steps)
    assert any("ix_link_end_due" in step for step in steps)
    assert not any(step.startswith("SCAN link") for step in steps)
