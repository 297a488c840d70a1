"""Scheduler: each job runs once when it is due, also after a kill, and however the clock jumps."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import time_machine
from sqlalchemy import create_engine, select, update

from app.core.clock import now
from app.core.database import begin_write, engine_options, prepare_engine
from app.core.leases import precise_now
from app.jobs import definitions
from app.jobs.definitions import TABLE, forget_deliveries, forget_redeemed_tickets
from app.jobs.schedule import Job, Scheduled, Scheduler, next_time, register
from app.notifications.models import Delivery, DeliveryAttempt, Event
from app.redirects.models import RedeemedTicket
from tests.server import wait_for

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def engine(settings) -> Iterator:
    engine = create_engine(settings.database_url, **engine_options(settings))
    prepare_engine(engine, settings)
    yield engine
    engine.dispose()


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
def make_scheduler(engine, settings, ran) -> Callable[..., Scheduler]:
    def note(session, _settings) -> None:
        begin_write(session)
        session.add(Event(type="ran", link_id=1))  # an effect that is committed with the next due time
        ran.append("ran")

    return lambda run=note: Scheduler(engine, settings, [Scheduled("a job", "7 * * * *", run)])


@pytest.fixture
def job(engine, session, make_scheduler) -> Job:
    register(engine, make_scheduler().table)
    return session.scalars(select(Job)).one()


def set_to(session, job: Job, **values) -> None:
    session.rollback()
    session.refresh(job)
    for name, value in values.items():
        setattr(job, name, value)
    session.commit()


def turn(scheduler: Scheduler) -> None:
    scheduler.turn()
    for thread in list(scheduler.running.values()):
        thread.join(90)


def effects(session) -> int:
    session.rollback()
    return len(session.scalars(select(Event)).all())


def test_the_table_has_times_that_can_be_read():
    assert len({job.name for job in TABLE}) == len(TABLE)
    assert all(next_time(job.cron, precise_now()) > precise_now() for job in TABLE)
    assert next_time("7 * * * *", dt.datetime(2026, 11, 21, 4, 7, tzinfo=dt.UTC)) == dt.datetime(2026, 11, 21, 5, 7, tzinfo=dt.UTC)  # fmt: skip


def test_a_new_job_waits_for_its_time_and_other_times_count_at_once(engine, session, job, make_scheduler):
    assert precise_now() < job.due <= precise_now() + HOUR
    set_to(session, job, due=precise_now() - HOUR)
    register(engine, make_scheduler().table)
    session.rollback()
    session.refresh(job)
    assert job.due < precise_now(), "a job that is due stays due when a worker starts"
    register(engine, {"a job": Scheduled("a job", "9 * * * *", print)})
    session.rollback()
    session.refresh(job)
    assert (job.cron, job.due.minute) == ("9 * * * *", 9)


@pytest.mark.databases
def test_a_job_that_is_due_runs_once_with_its_effects(session, job, make_scheduler, ran):
    turn(make_scheduler())
    assert ran == []
    set_to(session, job, due=precise_now() - dt.timedelta(days=9))
    workers = [make_scheduler(), make_scheduler()]
    for worker in workers * 2:
        turn(worker)
    assert (ran, effects(session)) == (["ran"], 1)
    session.rollback()
    session.refresh(job)
    assert (job.due > precise_now(), job.lease, job.who) == (True, None, None)


@pytest.mark.parametrize(
    ("lease", "runs"),
    [(30, False), (-1, True), (86_400, True)],
    ids=["of one at work", "of one who is gone", "of a clock a day ahead"],
)
def test_a_job_that_another_has(session, job, make_scheduler, ran, lease, runs):
    set_to(
        session,
        job,
        due=precise_now() - HOUR,
        who="another",
        lease=precise_now() + dt.timedelta(seconds=lease),
    )
    turn(make_scheduler())
    assert bool(ran) == runs


@pytest.mark.databases
def test_a_job_that_fails_leaves_nothing_and_is_tried_again_soon(session, job, make_scheduler, caplog):
    def fail(session, _settings) -> None:
        begin_write(session)
        session.add(Event(type="half", link_id=1))
        session.flush()
        raise ValueError("broken")

    set_to(session, job, due=precise_now() - HOUR)
    turn(make_scheduler(fail))
    assert effects(session) == 0
    session.rollback()
    session.refresh(job)
    assert (job.lease, dt.timedelta() < job.due - precise_now() <= dt.timedelta(seconds=60)) == (None, True)
    assert "broken" in caplog.text


def test_a_job_that_was_taken_over_comes_to_nothing(session, job, make_scheduler, ran):
    begun, go_on = threading.Event(), threading.Event()

    def slow(session, _settings) -> None:
        begun.set()
        assert go_on.wait(90)
        begin_write(session)
        session.add(Event(type="late", link_id=1))

    set_to(session, job, due=precise_now() - HOUR)
    sleeper = make_scheduler(slow)
    sleeper.turn()
    assert begun.wait(90)
    set_to(session, job, lease=precise_now() - HOUR)  # as though the machine had slept
    turn(make_scheduler())
    go_on.set()
    wait_for(lambda: not any(thread.is_alive() for thread in sleeper.running.values()), "its end")
    assert [row.type for row in session.scalars(select(Event))] == ["ran"]


def test_a_long_job_keeps_its_lease_and_holds_up_no_other(session, job, make_scheduler):
    go_on = threading.Event()
    set_to(session, job, due=precise_now() - HOUR)
    worker = make_scheduler(lambda session, settings: go_on.wait(90))
    worker.turn()
    session.rollback()
    session.refresh(job)
    lease = job.lease
    with time_machine.travel(lease - dt.timedelta(seconds=5), tick=False):
        worker.turn()
    session.rollback()
    session.refresh(job)
    assert job.lease > lease
    go_on.set()
    for thread in worker.running.values():
        thread.join(90)


@pytest.mark.databases
def test_old_deliveries_go_with_their_attempts_and_what_waits_stays(session, settings, alice, make_handler):
    old = now() - dt.timedelta(days=31)
    on, off = make_handler(alice), make_handler(alice, is_enabled=False)
    rows = [
        (on, "delivered", old, None), (on, "failed", old, None), (on, "pending", old, precise_now()),
        (on, "delivered", now(), None), (off, "pending", now(), precise_now()),
    ]  # fmt: skip
    for number, (handler, status, when, due) in enumerate(rows):
        session.add(Delivery(handler_id=handler.id, type="link.started", webhook_id=f"msg_{number}", data={}, status=status, datetime=when, due=due))  # fmt: skip
    session.flush()
    session.add(DeliveryAttempt(delivery_id=1, detail="d", duration_ms=1))
    session.commit()
    forget_deliveries(session, settings)
    session.commit()
    left = session.scalars(select(Delivery).order_by(Delivery.id)).all()
    assert [(row.webhook_id, row.status) for row in left] == [("msg_2", "pending"), ("msg_3", "delivered"), ("msg_4", "failed")]  # fmt: skip
    assert [row.delivery_id for row in session.scalars(select(DeliveryAttempt))] == [left[2].id]


@pytest.mark.databases
def test_redeemed_tickets_go_a_day_after_their_time(session, settings, monkeypatch):
    monkeypatch.setattr(definitions, "BATCH_SIZE", 2)
    for number in range(5):
        session.add(RedeemedTicket(id=f"old{number}", expires_datetime=now() - dt.timedelta(hours=25)))
    session.add(RedeemedTicket(id="new", expires_datetime=now() - dt.timedelta(hours=23)))
    session.commit()
    forget_redeemed_tickets(session, settings)
    assert session.scalars(select(RedeemedTicket.id)).all() == ["new"]


@pytest.mark.databases
def test_each_machine_sees_to_its_own_files_and_one_to_the_database(
    database, engine, settings, session, tmp_path
):
    """On PostgreSQL; with SQLite there is one machine, and its jobs keep their names."""
    ran: list[str] = []
    directories = [settings.data_dir, tmp_path / "other"]
    directories[1].mkdir()

    def machine(data_dir) -> Scheduler:
        def note(name: str) -> Scheduled:
            run = lambda _session, _settings: ran.append(f"{name} at {data_dir.name}")  # noqa: E731
            return Scheduled(name, "7 * * * *", run, is_of_machine=name == "files")

        return Scheduler(engine, replace(settings, data_dir=data_dir), [note("files"), note("rows")])

    schedulers = [machine(each) for each in directories]
    for scheduler in schedulers:
        turn(scheduler)
    session.execute(update(Job).values(due=precise_now() - HOUR))
    session.commit()
    for scheduler in schedulers * 2:
        turn(scheduler)
    files = ["files at data", "files at other"] if database == "postgresql" else ["files at data"]
    assert sorted(ran) == [*files, "rows at data"]
