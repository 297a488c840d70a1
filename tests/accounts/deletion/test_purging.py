"""Deletion of a user: nothing works from that moment on; after 30 days all of their data is gone, and none of others'."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.deletion import leaving, purging
from app.accounts.models import User
from app.accounts.standing import RETENTION
from app.accounts.workspaces import access_of
from app.analytics.models import Click, Counter
from app.analytics.rollup import roll_up
from app.analytics.rollup_models import (
    LinkQuarter,
    LinkValue,
    OwnerDay,
    OwnerQuarter,
    OwnerValue,
    Seen,
)
from app.api.models import IdempotencyKey
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.errors import NotFound
from app.core.extensions import db
from app.core.leases import precise_now
from app.import_export import files
from app.import_export.models import FailedRow, ImportedRow, LinkImport, PreviewRow
from app.jobs.reports import make_reports
from app.links import destination_checks
from app.links import services as links
from app.links.models import Alias, Link
from app.links.schedule_events import tell
from app.links.uploads import Picture
from app.notifications import waiting
from app.notifications.events import ENDED, raise_event
from app.notifications.models import Delivery, DeliveryAttempt, Report
from app.notifications.outbox import deliver
from app.notifications.site import site_of
from tests import pictures
from tests.analytics.conftest import Tables
from tests.analytics.load import load
from tests.past import take_in
from tests.redirects.conftest import front, person, redirect_context
from tests.writes import write

__all__ = ["front", "person", "redirect_context"]

TO = "https://example.com/"


def furnish(session: Session, factory: Any, user: User, settings: Settings, name: str = "") -> None:
    """Gives a user some of every kind of data that users can have. `name` is in the texts."""
    name = name or user.email.partition("@")[0]
    workspace_id = access_of(user).workspace_id
    domain, project, pixel = (
        factory.domain(user, f"{name}.example"),
        factory.project(user),
        factory.pixel(user),
    )
    handler = factory.handler(user)
    factory.key(user)

    def make(**changes: Any) -> Link:
        return write(links.create, access_of(user), {"location_url": TO, **changes})

    first = make(
        url=name, tags=["a"], project_id=project.id, pixels_ids=[pixel.id], email_reports=[handler.id],
        cloaking_favicon=Picture(name.encode(), "png"), clicks_limit=9,
    )  # fmt: skip
    second = make(url=f"{name}-there", domain_id=domain.id, cloaking_opengraph=Picture(b"y", "png"))
    gone = make(url=f"{name}-gone", cloaking_favicon=Picture(b"z", "png"))
    visited = [first.id, second.id, gone.id]
    begin_write(db.session)
    links.delete(gone)
    links.update(first, {"cloaking_favicon": Picture(b"new", "png")})
    db.session.commit()
    delivery = deliver(session, handler.id, ENDED, {})
    delivery.attempts = [DeliveryAttempt(detail="no", duration_ms=1)]
    path = files.new_file(settings.data_dir)
    path.write_text("url\n")
    job = LinkImport(**access_of(user).row_columns, name="a", file=path.name, state="done")
    session.add(job)
    session.flush()
    session.add_all(
        [
            FailedRow(import_id=job.id, number=1, line=1, cells=[], problems=[]),
            *(PreviewRow(import_id=job.id, number=number, line=number, kind="new") for number in (1, 2, 3)),
            ImportedRow(link_id=first.id, **access_of(user).row_columns, digest=name),
            Report(user_id=user.id, period="weekly", start_date=now().date()),
            IdempotencyKey(
                **access_of(user).row_columns, key="k", digest="d", token="t", lease_until=now(), answer={}
            ),
        ]
    )
    session.commit()
    begin = now().replace(hour=0, minute=0, second=0) - dt.timedelta(days=3)
    visits = load(300, begin, 2, {workspace_id: visited}, Random(3))
    session.rollback()
    take_in(settings, visits)
    for day in {visit.time_ms // 86_400_000 for visit in visits}:
        tables = Tables(settings)
        for _ in roll_up(tables.engine, workspace_id, day):
            pass
        tables.engine.dispose()


def stock(session: Session, settings: Settings) -> dict[str, int]:
    """The number of rows of each table, in both databases, and the number of files in each directory."""
    found = {
        table.fullname: session.scalar(select(sa.func.count()).select_from(table)) or 0
        for table in User.metadata.sorted_tables
    }
    session.rollback()
    imports = list(files.directory_of(settings.data_dir).iterdir())
    of_pictures = {"uploads": len(pictures.served()), "replaced": len(pictures.previous())}
    session.rollback()
    return found | of_pictures | {"imports": len(imports)}


# the audit log outlives accounts: `tests/audit/test_entries.py` tests what it keeps
SHARED = {
    *("clicks.term", "clicks.agent", "clicks.position", "clicks.limited_taken", "clicks.finished_segment"),
    *("plan_change", "audit_entry"),
    "stored_content",  # what no file has goes at night
}


def leave_for_good(session: Session, user: User) -> None:
    """As thirty days ago."""
    write(leaving.leave, user)
    user.deleted_datetime = now() - RETENTION
    session.commit()


@pytest.mark.databases
def test_nothing_is_left_and_of_others_everything(
    session: Session,
    settings: Settings,
    alice: User,
    bob: User,
    factory: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(purging, "BATCH_SIZE", 2)  # many steps
    monkeypatch.setattr("app.analytics.erasure.BATCH_SIZE", 70)
    monkeypatch.setattr("app.analytics.rollup_models.MANY", 20)  # links have roll-ups of their own, too
    furnish(session, factory, alice, settings)
    before = stock(session, settings)
    furnish(session, factory, bob, settings)
    full = stock(session, settings)
    ours = {name for name, count in full.items() if count > before[name]}
    assert {
        "link",
        "alias",
        "trashed",
        "link_change",
        "delivery",
        "failed_row",
        "preview_row",
        "uploads",
        "replaced",
        "imports",
    } <= ours
    kept = {model.__table__.fullname for model in (Click, Counter, LinkQuarter, LinkValue, OwnerDay)}
    kept |= {model.__table__.fullname for model in (OwnerQuarter, OwnerValue, Seen)}
    assert kept <= ours
    write(leaving.leave, bob)
    assert purging.purge(session, settings) == 0
    bob.deleted_datetime = now() - RETENTION
    session.commit()
    assert purging.purge(session, settings) == 1
    session.expire_all()
    after = stock(session, settings)
    assert own(after) == own(before) | {"user": 1, "workspace": 1, "workspace_member": 1}
    assert purging.purge(session, settings) == 0


def test_short_addresses_hosts_and_the_email_address_are_free_again(
    session: Session, settings: Settings, alice: User, bob: User, factory: Any
) -> None:
    furnish(session, factory, bob, settings)
    leave_for_good(session, bob)
    purging.purge(session, settings)
    assert session.scalars(select(Alias)).all() == []
    for name in ("bob", "bob-gone"):
        write(links.create, access_of(alice), {"location_url": TO, "url": name})
    factory.domain(alice, "bob.example")
    factory.user("bob@example.com")


def test_a_killed_run_is_begun_anew(
    session: Session,
    settings: Settings,
    alice: User,
    bob: User,
    factory: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    furnish(session, factory, alice, settings)
    before = stock(session, settings)
    furnish(session, factory, bob, settings)
    leave_for_good(session, bob)
    for step in ("remove_trash", "remove_failed_rows", "remove_preview_rows", "finish"):
        with monkeypatch.context() as broken:
            broken.setattr(purging, step, killed)
            with pytest.raises(KeyboardInterrupt):
                purging.purge(session, settings)
        session.rollback()
    assert purging.purge(session, settings) == 1
    session.expire_all()
    after = stock(session, settings)
    assert own(after) == own(before) | {"user": 1, "workspace": 1, "workspace_member": 1}


def own(counts: dict[str, int]) -> dict[str, int]:
    """The counts without tables that all users share."""
    return {name: count for name, count in counts.items() if name not in SHARED}


def killed(*_: Any) -> int:
    raise KeyboardInterrupt


@pytest.mark.databases
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


@pytest.mark.databases
def test_after_thirty_days_nobody_comes_back(session: Session, bob: User) -> None:
    write(leaving.leave, bob)
    bob.deleted_datetime = now() - RETENTION
    session.commit()
    begin_write(db.session)
    with pytest.raises(NotFound):
        leaving.come_back(bob)
