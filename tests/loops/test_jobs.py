"""Scheduled jobs: an error in one item ends neither the job nor the others.

The scenarios are compared with the real table of jobs: a new job without one fails here.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session

from app.accounts.deletion import purging
from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.config import Settings
from app.core.leases import precise_now
from app.domains import verification
from app.domains.models import Domain
from app.import_export import files
from app.jobs import definitions, reports
from app.jobs.definitions import TABLE
from app.jobs.schedule import Job, Scheduled, Scheduler, register
from app.links import destination_checks, favicons, removal, uploads
from app.links.models import Favicon
from app.notifications import system_email
from app.notifications.models import Delivery, SystemEmail
from app.redirects.models import RedeemedTicket
from app.trash.models import Trashed
from tests.loops.conftest import ERRORS, count_errors, raiser
from tests.server import wait_for

OLD = now() - dt.timedelta(days=100)


def test_jobs(engine: Engine, settings: Settings, session: Session) -> None:
    """Every other job of the table fails, each in another way. The rest is done all the same."""
    bad = {job.name for job in TABLE[::2]}
    done: list[str] = []
    errors = list(ERRORS.values())

    def run_of(number: int, job: Scheduled) -> Callable[[Session, Settings], object]:
        if job.name in bad:
            return raiser(errors[number % len(errors)])
        return lambda _session, _settings: done.append(job.name)

    table = [Scheduled(job.name, job.cron, run_of(number, job)) for number, job in enumerate(TABLE)]
    scheduler = Scheduler(engine, settings, table)
    register(engine, scheduler.table)
    session.execute(update(Job).values(due=precise_now() - dt.timedelta(hours=1)))
    session.commit()

    def are_over() -> bool:
        scheduler.turn()
        for thread in list(scheduler.running.values()):
            thread.join(90)
        session.rollback()
        return session.scalar(select(Job.id).where(Job.due <= precise_now()).limit(1)) is None

    wait_for(are_over, "the jobs")
    assert sorted(done) == sorted(job.name for job in TABLE if job.name not in bad)
    for failed in session.scalars(select(Job).where(Job.name.in_(bad))):
        assert (failed.lease, failed.who) == (None, None)
        assert dt.timedelta() < failed.due - precise_now() <= dt.timedelta(seconds=60), failed.name


# each sets up two items, throws at the first, and returns a check that only the second is done
Scenario = Callable[..., Callable[[], bool]]


def trash(session: Session, throw: Any, alice: User, bob: User, **_: Any) -> Any:
    for user in (alice, bob):
        row = {**access_of(user).row_columns, "kind": "link", "row_id": user.id, "batch": "b", "name": "x"}
        session.add(Trashed(**row, rows={"link": [{"id": user.id}]}, deleted_datetime=OLD))
    session.commit()
    first = alice.id
    throw(removal, "remove_rows", lambda _session, found: first in {one.user_id for one in found})
    return lambda: list(session.scalars(select(Trashed.user_id))) == [first]


def deleted_users(session: Session, throw: Any, make_user: Any, **_: Any) -> Any:
    first, second = (make_user(f"{name}@example.com", deleted_datetime=OLD).id for name in "ab")
    throw(purging, "finish", lambda _session, user_id: user_id == first)
    left = select(User.id).where(User.id.in_([first, second]))
    return lambda: list(session.scalars(left)) == [first]


def old_tables(settings: Settings, throw: Any, **_: Any) -> Any:
    paths = [files.new_file(settings.data_dir) for _ in range(2)]
    for path in paths:
        path.write_text("x")
        os.utime(path, (0, 0))
    throw(Path, "unlink", lambda path, *_: path == paths[0])
    return lambda: [path.exists() for path in paths] == [True, False]


def users_reports(session: Session, throw: Any, alice: User, bob: User, monkeypatch: Any, **_: Any) -> Any:
    for user in (alice, bob):
        user.report_period, user.report_hour, user.report_since = "daily", 0, OLD
    session.commit()
    first, second = alice.id, bob.id
    made: set[int] = set()
    real = reports.make_report
    monkeypatch.setattr(
        reports, "make_report", lambda own, user_id, *rest: (real(own, user_id, *rest), made.add(user_id))
    )
    throw(reports, "make_report", lambda _session, user_id, *_: user_id == first)
    return lambda: made == {second}


def destinations(
    session: Session, throw: Any, alice: User, bob: User, two_links: Any, monkeypatch: Any, **_: Any
) -> Any:
    for user in (alice, bob):
        user.checks_destinations = True
    session.commit()
    first, second = (f"https://{user.id}.example/" for user in (alice, bob))
    written: list[str] = []
    monkeypatch.setattr(
        destination_checks,
        "ask",
        lambda check, _allowed: destination_checks.Result(check.id, check.url, None),
    )
    monkeypatch.setattr(
        destination_checks, "write_down", lambda _session, results: written.append(results[0].url)
    )
    throw(destination_checks, "write_down", lambda _session, results: results[0].url == first)
    return lambda: written == [second]


def old_deliveries(session: Session, throw: Any, alice: User, bob: User, make_handler: Any, **_: Any) -> Any:
    for user in (alice, bob):
        row = {"handler_id": make_handler(user).id, "type": "t", "webhook_id": f"m{user.id}", "data": {}}
        session.add(Delivery(**row, status="failed", datetime=OLD))
    session.commit()
    first = session.scalars(select(Delivery.id).order_by(Delivery.id)).first()
    throw(definitions, "remove_some", lambda _session, _model, ids: first in ids)
    return lambda: list(session.scalars(select(Delivery.id))) == [first]


def old_mails(session: Session, throw: Any, alice: User, bob: User, **_: Any) -> Any:
    content = system_email.Content(title="t", text="x")
    for user in (alice, bob):
        mail = system_email.enqueue(session, user.id, "test", user.email, content, OLD)
        mail.datetime, mail.delivery.status, mail.delivery.due = OLD, "failed", None
    session.commit()
    first = session.scalars(select(SystemEmail.id).order_by(SystemEmail.id)).first()
    throw(definitions, "remove_some", lambda _session, model, ids: model is SystemEmail and first in ids)
    return lambda: (
        list(session.scalars(select(SystemEmail.id)))
        == list(session.scalars(select(Delivery.letter_id)))
        == [first]
    )


def redeemed_tickets(session: Session, throw: Any, **_: Any) -> Any:
    session.add_all(RedeemedTicket(id=name, expires_datetime=OLD) for name in "ab")
    session.commit()
    throw(definitions, "remove_some", lambda _session, _model, ids: "a" in ids)
    return lambda: list(session.scalars(select(RedeemedTicket.id))) == ["a"]


def proofs_of_domains(
    session: Session, throw: Any, alice: User, bob: User, make_domain: Any, monkeypatch: Any, **_: Any
) -> Any:
    for user, host in ((alice, "a.example"), (bob, "b.example")):
        make_domain(user, host, datetime=OLD, checked_datetime=OLD)
    monkeypatch.setattr(verification, "is_shown", lambda _proofs, _allowed: True)
    throw(verification, "is_shown", lambda proofs, _allowed: "a.example" in proofs.file_url)
    checked = select(Domain.host).where(Domain.checked_datetime > OLD)
    return lambda: list(session.scalars(checked)) == ["b.example"]


def stray_pictures(settings: Settings, throw: Any, **_: Any) -> Any:
    directory = settings.data_dir / "uploads"
    directory.mkdir(exist_ok=True)
    names = [f"{letter * 32}.png" for letter in "ab"]
    for name in names:
        (directory / name).write_bytes(b"x")
        os.utime(directory / name, (0, 0))
    throw(uploads, "remove_files", lambda some: directory / names[0] in some)
    return lambda: [(directory / name).exists() for name in names] == [True, False]


def unused_icons(session: Session, throw: Any, alice: User, bob: User, **_: Any) -> Any:
    for user in (alice, bob):
        session.add(Favicon(**access_of(user).row_columns, site="https://nobody.example"))
    session.commit()
    first = alice.id
    throw(favicons, "remove_of", lambda _session, user_id, _used: user_id == first)
    return lambda: list(session.scalars(select(Favicon.user_id))) == [first]


ITEMS: dict[str, Scenario] = {
    "trash": trash,
    "deleted users": deleted_users,
    "tables taken in": old_tables,
    "reports": users_reports,
    "destinations": destinations,
    "old deliveries": old_deliveries,
    "old mails": old_mails,
    "redeemed tickets": redeemed_tickets,
    "proofs of domains": proofs_of_domains,
    "stray pictures": stray_pictures,
    "unused icons": unused_icons,
}
# one statement, one file or one uniform batch: the job itself is the item
WHOLE = {
    "sessions that are over",
    "subscriptions that are over",
    "forgotten passwords",
    "audit log",
    "places",
    "sign-in links",
    "used values",
}


def test_every_job_has_a_scenario() -> None:
    assert {job.name for job in TABLE} == {*ITEMS, *WHOLE}


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_of_a_job(
    name: str, request: pytest.FixtureRequest, session: Session, settings: Settings, engine: Engine
) -> None:
    wanted = ("throw", "monkeypatch", "alice", "bob", "make_user", "make_handler", "make_domain", "two_links")
    found = {each: request.getfixturevalue(each) for each in wanted}
    is_done = ITEMS[name](session=session, settings=settings, **found)
    [job] = [job for job in TABLE if job.name == name]
    before = count_errors(settings)
    with Session(engine) as own:
        job.run(own, settings)
        own.commit()
    session.rollback()
    session.expire_all()
    assert is_done()
    assert count_errors(settings) > before
