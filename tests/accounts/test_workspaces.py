"""Workspaces and their members: who has which, in which role, and that each keeps an owner."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.accounts import member_invitations, workspaces
from app.accounts.access import EDITOR, OWNER, VIEWER, Access
from app.accounts.deletion import leaving, purging
from app.accounts.models import User, Workspace, WorkspaceInvitation, WorkspaceMember
from app.accounts.standing import RETENTION
from app.accounts.workspaces import LastOwner, access_of
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.errors import Forbidden, NotFound
from app.core.extensions import db
from app.links.models import Alias, Link
from app.pixels.models import Pixel
from tests.factories import Factory
from tests.users import access_to
from tests.writes import write


def shared(owner: User, *members: tuple[User, str]) -> Workspace:
    """A workspace beside those that the users have alone. Its id is no user's."""
    begin_write(db.session)
    db.session.add(Workspace(id=5000, name="Shared"))
    db.session.flush()
    workspace = db.session.get_one(Workspace, 5000)
    for user, role in ((owner, OWNER), *members):
        workspaces.add_member(workspace, user, role)
    db.session.commit()
    return workspace


def member_of(workspace: Workspace, user: User) -> WorkspaceMember:
    return next(one for one in workspaces.members(workspace.id) if one.user_id == user.id)


def roles(workspace: Workspace) -> dict[int, str]:
    return {one.user_id: one.role for one in workspaces.members(workspace.id)}


def make_link(factory: Factory, user: User, workspace: Workspace, url: str) -> Link:
    link = Link(workspace_id=workspace.id, user_id=user.id, url=url, location_url="https://example.com/")
    factory.add(link)
    return factory.own(link, Alias(domain_id=0, key=url, link_id=link.id, workspace_id=workspace.id))


def test_everybody_has_one_of_their_own(alice: User, bob: User) -> None:
    own = [access_of(user) for user in (alice, bob)]
    assert [access.role for access in own] == [OWNER, OWNER]
    assert own[0].workspace_id != own[1].workspace_id
    assert access_to(bob, own[0].workspace_id) is None
    assert access_to(alice, own[0].workspace_id) == own[0]


def test_the_own_one_comes_first(alice: User, bob: User) -> None:
    workspace = shared(bob, (alice, VIEWER))
    assert [one.workspace_id for one in workspaces.memberships(alice)] == [
        access_of(alice).workspace_id,
        workspace.id,
    ]
    assert access_to(alice, workspace.id) == Access(alice, workspace.id, VIEWER)


@pytest.mark.databases
def test_the_last_owner_stays(alice: User, bob: User) -> None:
    workspace = shared(alice, (bob, EDITOR))
    for change in (
        lambda member: workspaces.change_role(member, VIEWER),
        workspaces.remove_member,
    ):
        with pytest.raises(LastOwner):
            write(change, member_of(workspace, alice))
        db.session.rollback()
    write(workspaces.change_role, member_of(workspace, bob), OWNER)
    write(workspaces.change_role, member_of(workspace, alice), VIEWER)
    assert roles(workspace) == {alice.id: VIEWER, bob.id: OWNER}
    with pytest.raises(LastOwner):
        write(workspaces.remove_member, member_of(workspace, bob))


def test_who_is_removed_has_a_workspace_still(alice: User, bob: User) -> None:
    own = db.session.get_one(Workspace, access_of(bob).workspace_id)
    write(workspaces.add_member, own, alice, OWNER)
    write(workspaces.remove_member, member_of(own, bob))
    assert access_of(bob).workspace_id != own.id
    assert access_of(bob).role == OWNER
    assert roles(own) == {alice.id: OWNER}


# --- with accounts


def test_the_last_owner_of_a_shared_one_keeps_the_account(alice: User, bob: User) -> None:
    workspace = shared(bob, (alice, EDITOR))
    with pytest.raises(LastOwner):
        write(leaving.leave, bob)
    db.session.rollback()
    assert bob.deleted_datetime is None
    write(workspaces.change_role, member_of(workspace, alice), OWNER)
    write(leaving.leave, bob)
    assert bob.deleted_datetime is not None


@pytest.mark.databases
def test_shared_ones_stay_with_what_was_made_there(
    session: Session, settings: Settings, alice: User, bob: User, factory: Factory
) -> None:
    workspace = shared(alice, (bob, EDITOR))
    own = access_of(bob).workspace_id
    kept, gone = make_link(factory, bob, workspace, "kept"), factory.link(bob, "gone")
    pixel = factory.add(
        Pixel(workspace_id=workspace.id, user_id=bob.id, type="social_a", name="p", pixel="1")
    )
    kept_id, gone_id, pixel_id, bob_id = kept.id, gone.id, pixel.id, bob.id
    write(leaving.leave, bob)
    assert session.get_one(Workspace, own).deleted_datetime is not None
    assert session.get_one(Workspace, workspace.id).deleted_datetime is None
    assert roles(workspace) == {alice.id: OWNER}
    later(session, RETENTION)
    assert purging.purge(session, settings) == 1
    session.expire_all()
    assert session.get(User, bob_id) is None
    assert session.get(Workspace, own) is None
    assert session.get(Link, gone_id) is None
    assert session.get_one(Link, kept_id).user_id == alice.id
    assert session.get_one(Pixel, pixel_id).user_id == alice.id
    assert session.scalars(select(Alias.key)).all() == ["kept"]


def test_what_was_deleted_comes_back_with_the_account(session: Session, alice: User, bob: User) -> None:
    own = access_of(bob).workspace_id
    write(leaving.leave, bob)
    write(leaving.come_back, bob)
    session.expire_all()
    assert session.get_one(Workspace, own).deleted_datetime is None
    assert access_of(bob).workspace_id == own


def later(session: Session, time: dt.timedelta) -> None:
    """As though what is deleted was deleted that much earlier."""
    for model in (User, Workspace):
        for row in session.scalars(select(model).where(model.deleted_datetime.is_not(None))):
            row.deleted_datetime -= time
    session.commit()


# --- invitations


def invited(access: Access, email: str, role: str = EDITOR) -> str:
    token: str = write(member_invitations.invite, access, email, role)[1]
    return token


@pytest.mark.databases
def test_an_invitation_works_once(alice: User, bob: User) -> None:
    token = invited(access_of(alice), bob.email, VIEWER)
    assert write(member_invitations.accept, token, bob).role == VIEWER
    assert access_to(bob, access_of(alice).workspace_id) is not None
    with pytest.raises(NotFound):
        write(member_invitations.accept, token, bob)


def test_it_is_for_one_verified_address(alice: User, bob: User) -> None:
    for email in ("carol@example.com", bob.email):
        token = invited(access_of(alice), email)
        bob.verified_email = None if email == bob.email else bob.email
        db.session.commit()
        with pytest.raises(Forbidden):
            write(member_invitations.accept, token, bob)
        db.session.rollback()
    assert access_to(bob, access_of(alice).workspace_id) is None


CLOSED: dict[str, Any] = {
    "an unknown token": lambda _alice: "nonsense",
    "one that has expired": lambda alice: expired(alice),
    "one that was replaced": lambda alice: (invited(access_of(alice), "bob@example.com"), "")[0],
    "one of an owner who is disabled": lambda alice: disabled(alice),
}


def expired(alice: User) -> str:
    token = invited(access_of(alice), "bob@example.com")
    row = db.session.scalars(select(WorkspaceInvitation)).one()
    assert row.expires_datetime - now() <= member_invitations.GOOD_FOR
    row.expires_datetime = now()
    db.session.commit()
    return token


def disabled(alice: User) -> str:
    token = invited(access_of(alice), "bob@example.com")
    alice.disabled_datetime = now()
    db.session.commit()
    return token


@pytest.mark.parametrize("name", CLOSED)
def test_one_that_is_closed(name: str, alice: User, bob: User) -> None:
    token = CLOSED[name](alice)
    if "replaced" in name:
        invited(access_of(alice), "bob@example.com")
    with pytest.raises(NotFound):
        write(member_invitations.accept, token, bob)


def test_a_token_is_not_stored(session: Session, alice: User) -> None:
    token = invited(access_of(alice), "bob@example.com")
    row = session.execute(text("SELECT * FROM workspace_invitation")).one()
    assert token not in str(row)
    assert session.scalar(select(func.count()).select_from(WorkspaceInvitation)) == 1
