"""Deletion of a workspace: nothing of it works from the next request on, and 30 days later nothing is left."""

from __future__ import annotations

import datetime as dt
import os
from random import Random
from typing import Any

import pytest
from sqlalchemy import Table, cast, func, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.types import Text

from app.accounts import member_invitations, workspaces
from app.accounts.access import EDITOR, OWNER, VIEWER
from app.accounts.deletion import leaving as deletion
from app.accounts.deletion import purging
from app.accounts.keys import create_key, find_key
from app.accounts.models import User, Workspace, WorkspaceInvitation
from app.accounts.standing import RETENTION
from app.accounts.workspaces import access_of
from app.analytics.engine import open_engine
from app.analytics.interning_cleanup import remove_unused
from app.analytics.sharing.models import StatisticsShare
from app.analytics.sharing.services import state_of
from app.core.clock import now
from app.core.config import Settings
from app.core.errors import NotFound
from app.core.extensions import db
from app.import_export import archives
from app.import_export.files import sweep
from app.import_export.models import Archive, FilePart, LinkImport
from app.jobs.maintenance import prune_changes
from app.journal.segments import directory_of
from app.links.models import DestinationCheck, Favicon, LimitCounter, Link, PlanChange, SavedView
from app.links.schedule_events import tell
from app.notifications.events import ENDED, raise_event
from app.notifications.member_invitations import post_invitation
from app.notifications.models import Delivery, SystemEmail
from app.notifications.outbox import deliver
from app.notifications.site import site_of
from app.redirects.context import RedirectContext
from tests.accounts.deletion.test_purging import furnish, own, stock
from tests.accounts.test_workspaces import later, roles, shared
from tests.analytics.load import load
from tests.factories import Factory
from tests.past import take_in
from tests.redirects.conftest import front, person, redirect_context
from tests.users import access_to
from tests.writes import write

__all__ = ["front", "person", "redirect_context"]
pytestmark = pytest.mark.databases
MARK = "zqtrace"  # in every text of the workspace
TABLES: list[Table] = User.metadata.sorted_tables
# tables that outlive a workspace: the audit log, by its own retention, and names of what was deleted in it
KEPT = {"audit_entry"}


@pytest.fixture
def second(alice: User) -> Workspace:
    """Alice's second one, so that she can delete either."""
    return shared(alice)


def gone(access: Any) -> Workspace:
    found: Workspace = write(deletion.delete_workspace, access)
    return found


# --- from the next request on


def test_links_answer_404_at_once_and_come_back(
    redirect_context: RedirectContext,
    person: Any,
    alice: User,
    bob: User,
    second: Workspace,
    factory: Factory,
) -> None:
    domain = factory.domain(alice, "alice.example", custom_index_url="https://example.com/index")
    factory.link(alice, "one")
    factory.link(alice, "limited", clicks_limit=5)
    factory.link(alice, "there", domain_id=domain.id)
    factory.link(bob, "his")

    def answers() -> list[int]:
        redirect_context.compiled_links.poll()
        here = [person.open(f"/{name}").status_code for name in ("one", "limited", "his")]
        return [*here, *(person.open(path, host="alice.example").status_code for path in ("/there", "/"))]

    assert answers() == [302, 302, 302, 302, 302]
    row = gone(access_of(alice))
    assert answers() == [404, 404, 302, 404, 404]
    write(deletion.restore_workspace, alice, row.id)
    assert answers() == [302, 302, 302, 302, 302]


def test_keys_members_and_share_addresses_stop(
    session: Session, alice: User, bob: User, second: Workspace, factory: Factory
) -> None:
    own_one = access_of(alice)
    write(workspaces.add_member, session.get_one(Workspace, own_one.workspace_id), bob, EDITOR)
    _, key = write(create_key, own_one, "k")
    _, bobs = write(create_key, access_to(bob, own_one.workspace_id), "k")
    share, _ = factory.share(alice)
    assert find_key(key)
    assert find_key(bobs)
    gone(own_one)
    session.expire_all()
    assert find_key(key) is find_key(bobs) is None
    assert access_to(bob, own_one.workspace_id) is None
    assert access_of(alice).workspace_id == second.id
    assert state_of(session.get_one(StatisticsShare, share.id)) == "closed"
    write(deletion.restore_workspace, alice, own_one.workspace_id)
    session.expire_all()
    assert find_key(key)
    assert find_key(bobs)
    assert access_to(bob, own_one.workspace_id) == (bob, own_one.workspace_id, EDITOR)
    assert state_of(session.get_one(StatisticsShare, share.id)) == "active"


def test_what_waits_ends(
    session: Session, settings: Settings, alice: User, bob: User, second: Workspace, factory: Factory
) -> None:
    handlers = [factory.handler(user) for user in (alice, bob)]
    for handler in handlers:
        deliver(session, handler.id, ENDED, {})
    jobs = [
        LinkImport(**access_of(user).row_columns, name="a", file=f"{user.id}{state}.csv", state=state)
        for user in (alice, bob)
        for state in ("checking", "taking", "done")
    ]
    session.add_all(jobs)
    session.commit()
    row, _ = write(member_invitations.invite, access_of(alice), "new@example.com", VIEWER)
    write(post_invitation, session, row, alice, "https://go.example/join")
    write(archives.ask, alice, "https://go.example")
    archive = session.scalars(select(Archive)).one()
    archives.run(archive.id, settings)
    assert archives.find_archive(alice)
    gone(access_of(alice))
    session.expire_all()
    wanted = select(Delivery.handler_id, Delivery.status).where(Delivery.handler_id.is_not(None))
    states = dict(session.execute(wanted).all())
    assert states == {handlers[0].id: "failed", handlers[1].id: "pending"}
    assert [job.state for job in jobs] == ["ended", "ended", "done", "checking", "taking", "done"]
    for model in (WorkspaceInvitation, SystemEmail, Archive):
        assert session.scalars(select(model)).all() == []
    assert archives.find_archive(alice) is None


# --- who


def test_the_only_one_stays(session: Session, alice: User) -> None:
    access = access_of(alice)
    with pytest.raises(deletion.OnlyWorkspace):
        write(deletion.delete_workspace, access)
    session.rollback()
    assert access_of(alice) == access


def test_who_may_restore_it_and_until_when(session: Session, alice: User, bob: User, make_user: Any) -> None:
    carol = make_user("carol@example.com")
    workspace = shared(alice, (bob, EDITOR), (carol, OWNER))
    id_ = gone(access_to(alice, workspace.id)).id
    assert [[one.id for one in deletion.deleted_workspaces(user)] for user in (alice, bob, carol)] == [
        [id_],
        [],
        [id_],
    ]
    with pytest.raises(NotFound):
        write(deletion.restore_workspace, bob, id_)
    session.rollback()
    write(deletion.restore_workspace, carol, id_)
    assert roles(workspace) == {alice.id: OWNER, bob.id: EDITOR, carol.id: OWNER}
    gone(access_to(alice, id_))
    later(session, RETENTION)
    assert deletion.deleted_workspaces(alice) == []
    with pytest.raises(NotFound):
        write(deletion.restore_workspace, alice, id_)


# --- 30 days later


def test_nothing_is_left(
    session: Session,
    settings: Settings,
    alice: User,
    bob: User,
    factory: Factory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither in a table nor in a file is a trace of it, nor of its clicks in the journal."""
    monkeypatch.setattr(purging, "BATCH_SIZE", 2)  # many steps
    monkeypatch.setattr("app.analytics.rollup_models.MANY", 20)  # links have roll-ups of their own, too
    furnish(session, factory, alice, settings)
    before = stock(session, settings)
    mine = access_of(bob).workspace_id
    fill(session, settings, factory, bob)
    assert unnamed(session, mine) == set(), "fill these tables, too"
    links = list(session.scalars(select(Link.id).where(Link.workspace_id == mine)))
    assert marked(session) - KEPT
    shared(bob)
    gone(access_of(bob))
    assert purging.purge(session, settings) == 0
    assert session.get(Workspace, mine)
    later(session, RETENTION)
    # clicks that another machine held back meanwhile
    ours = {mine: links}
    visits = load(50, now() - dt.timedelta(days=2), 1, ours, Random(5))
    purging.purge(session, settings)
    take_in(settings, visits)
    assert mine in named_in_clicks(session)
    purging.purge(session, settings)
    tidy(session, settings)
    session.expire_all()
    assert session.get(Workspace, mine) is None
    assert named(session, mine) - KEPT == set()
    assert marked(session) - KEPT == set()
    assert [path for path in files(settings) if MARK.encode() in path.read_bytes()] == []
    assert not list(directory_of(settings.data_dir).glob("*.v*"))
    after = stock(session, settings)
    more = {name: after[name] - before[name] for name in own(after) if after[name] != before[name]}
    more.pop("rate_limit_count", None)  # of the day's invitations, on PostgreSQL: it expires
    assert more == {"report": 1}, "another workspace has all that it had, and so has the user"


def fill(session: Session, settings: Settings, factory: Factory, user: User) -> None:
    """Gives the user's workspace a row of every table that names one, with the mark in its texts."""
    furnish(session, factory, user, settings, MARK)
    access = access_of(user)
    session.get_one(Workspace, access.workspace_id).name = MARK
    first, second, *_ = session.scalars(select(Link).where(Link.workspace_id == access.workspace_id)).all()
    factory.share(user, name=MARK)
    session.add_all(
        [
            SavedView(**access.row_columns, name=MARK, key=MARK, query=f"search={MARK}"),
            Favicon(**access.row_columns, site=f"https://{MARK}.example", content=b"x", digest="d"),
            DestinationCheck(link_id=second.id, url=f"https://{MARK}.example/"),
        ]
    )
    session.merge(LimitCounter(link_id=first.id, clicks=3))
    session.commit()
    session.execute(
        update(Link).where(Link.id == first.id).values(last_datetime=now() - dt.timedelta(days=9))
    )
    session.commit()
    row, _ = write(member_invitations.invite, access, f"{MARK}@example.com", VIEWER)
    write(post_invitation, session, row, user, "https://go.example/join")
    write(archives.ask, user, "https://go.example")
    archives.run(session.scalars(select(Archive.id)).one(), settings)
    visits = load(20, now() - dt.timedelta(days=1), 1, {access.workspace_id: [first.id]}, Random(9))
    take_in(
        settings, [visit._replace(referrer_host=f"{MARK}.example", referrer_path="/") for visit in visits]
    )
    raise_event(session.connection(), ENDED, first.id, {})
    session.commit()


def tidy(session: Session, settings: Settings) -> None:
    """What the worker does besides, some of it at once, some each hour or night."""
    while tell(session, site_of(settings)):
        pass
    session.execute(update(FilePart).values(datetime=now() - dt.timedelta(days=9)))
    session.commit()
    sweep(session)
    engine = open_engine(settings)
    for _ in remove_unused(engine):
        pass
    engine.dispose()
    for path in archives.directory_of(settings.data_dir).iterdir():
        os.utime(path, (0, 0))
    archives.sweep(session, settings.data_dir)
    session.execute(update(PlanChange).values(datetime=now() - dt.timedelta(hours=2)))
    session.commit()
    prune_changes(db.engine)


def named(session: Session, workspace_id: int) -> set[str]:
    """The tables with rows of this workspace."""
    return {
        table.fullname
        for table in TABLES
        if "workspace_id" in table.c
        and session.scalar(
            select(func.count()).select_from(table).where(table.c.workspace_id == workspace_id)
        )
    }


def named_in_clicks(session: Session) -> set[int]:
    tables = [table for table in TABLES if table.schema and "workspace_id" in table.c]
    return {id_ for table in tables for id_ in session.scalars(select(table.c.workspace_id))}


def unnamed(session: Session, workspace_id: int) -> set[str]:
    """The tables that could have rows of it, and have none."""
    return {table.fullname for table in TABLES if "workspace_id" in table.c} - named(session, workspace_id)


def marked(session: Session) -> set[str]:
    """The tables in which any value has the mark."""
    found = set()
    for table in TABLES:
        columns = [
            cast(column, Text).contains(MARK) for column in table.c if column.type.python_type is not bytes
        ]
        if session.scalar(select(func.count()).select_from(table).where(or_(*columns))):
            found.add(table.fullname)
    return found


def files(settings: Settings) -> list[Any]:
    """All files of the data directory but the databases themselves, whose tables are looked through."""
    return [path for path in settings.data_dir.rglob("*") if path.is_file() and ".db" not in path.name]
