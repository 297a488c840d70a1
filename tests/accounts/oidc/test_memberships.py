"""Roles of the provider become memberships of workspaces at each sign-in, and end there."""

from __future__ import annotations

import logging

import pytest
from flask.testing import FlaskClient

from app.accounts import workspaces
from app.accounts.deletion import leaving
from app.accounts.models import User, Workspace, WorkspaceMember
from app.accounts.oidc.roles import RoleChanges, apply_roles
from app.core.extensions import db
from tests.accounts.oidc.conftest import Visit
from tests.accounts.oidc.scripted_provider import ScriptedProvider
from tests.accounts.oidc.test_provider import tie

TEAM, GONE = 7000, 7001


@pytest.fixture
def team(bob: User) -> Workspace:
    """A workspace of Bob's, whose id is no user's."""
    workspace = Workspace(id=TEAM, name="Team")
    db.session.add(workspace)
    db.session.flush()
    workspaces.add_member(workspace, bob, "owner")
    db.session.commit()
    return workspace


def role_of(user: User) -> str | None:
    mine = {"workspace_id": TEAM, "user_id": user.id}
    db.session.expire_all()
    return db.session.query(WorkspaceMember.role).filter_by(**mine).scalar()


APPLIED = {
    "a new member": (None, RoleChanges({TEAM: "viewer"}, frozenset()), "viewer"),
    "another role": ("viewer", RoleChanges({TEAM: "editor"}, frozenset()), "editor"),
    "the same role": ("editor", RoleChanges({TEAM: "editor"}, frozenset()), "editor"),
    "a role that is over": ("editor", RoleChanges({}, frozenset({TEAM})), None),
    "one that is over already": (None, RoleChanges({}, frozenset({TEAM})), None),
    "a workspace that is not there": (None, RoleChanges({GONE: "owner"}, frozenset()), None),
    "one that is not there, and one that is": (
        None,
        RoleChanges({TEAM: "editor"}, frozenset({TEAM - 1})),
        "editor",
    ),
}


@pytest.mark.parametrize(("before", "changes", "after"), APPLIED.values(), ids=APPLIED)
def test_changes_of_roles_are_applied(
    before: str | None, changes: RoleChanges, after: str | None, alice: User, team: Workspace
) -> None:
    if before:
        workspaces.add_member(team, alice, before)
    apply_roles(alice, changes, leaving.remove_member, leaving.change_role)
    db.session.commit()
    assert role_of(alice) == after


@pytest.mark.parametrize(
    "changes",
    [RoleChanges({TEAM: "viewer"}, frozenset()), RoleChanges({}, frozenset({TEAM}))],
    ids=["demoted", "removed"],
)
def test_a_workspace_keeps_its_last_owner(
    changes: RoleChanges, bob: User, team: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        apply_roles(bob, changes, leaving.remove_member, leaving.change_role)
    db.session.commit()
    assert role_of(bob) == "owner"
    assert "LastOwner" in caplog.text


@pytest.mark.settings(OIDC_ROLES=f"groups=marketing:{TEAM}:editor")
def test_a_group_opens_the_workspace_until_it_is_gone(
    alice: User, team: Workspace, visit: Visit, provider: ScriptedProvider
) -> None:
    tie(alice, provider)

    def status_after_sign_in(*groups: str) -> tuple[FlaskClient, int]:
        provider.claims = {"groups": list(groups)}
        client = visit.client.application.test_client()
        Visit(client, provider).sign_in()
        return client, client.get(f"/dashboard/w/{TEAM}/links/").status_code

    browser, status = status_after_sign_in("marketing")
    assert (status, role_of(alice)) == (200, "editor")
    assert status_after_sign_in("sales")[1] == 404
    assert role_of(alice) is None
    assert browser.get(f"/dashboard/w/{TEAM}/links/").status_code == 404  # the session before, too
