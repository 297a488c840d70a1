"""Roles from claims, and the memberships of workspaces that they become at each sign-in."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.accounts import workspaces
from app.accounts.deletion import leaving
from app.accounts.models import User, Workspace, WorkspaceMember
from app.accounts.oidc.roles import RoleChanges, apply_roles, are_complete, role_changes, wanted_roles
from app.core.extensions import db
from app.core.oidc_settings import role_rules
from tests.accounts.oidc.conftest import Visit
from tests.accounts.oidc.scripted_provider import ScriptedProvider
from tests.accounts.oidc.test_provider import tie

RULES = role_rules(
    "groups=marketing:3:editor; groups=staff:3:viewer; groups=bosses:3:owner; groups=staff:4:viewer;"
    "realm_access.roles=way:post:5:editor; https://example.com/level=7:6:viewer; is_boss=true:7:owner"
)
WANTED: dict[str, tuple[dict[str, Any], dict[int, str]]] = {
    "no claim": ({}, {}),
    "one group": ({"groups": ["marketing"]}, {3: "editor"}),
    "a group as a text": ({"groups": "marketing"}, {3: "editor"}),
    "the highest role of several": ({"groups": ["staff", "marketing"]}, {3: "editor", 4: "viewer"}),
    "in any order": ({"groups": ["bosses", "staff"]}, {3: "owner", 4: "viewer"}),
    "a group that begins alike": ({"groups": ["marketing-2", "Marketing"]}, {}),
    "a part of a text": ({"groups": "marketing staff"}, {}),
    "a claim inside another": ({"realm_access": {"roles": ["way:post"]}}, {5: "editor"}),
    "a claim whose name has dots": ({"https://example.com/level": 7}, {6: "viewer"}),
    "a truth": ({"is_boss": True}, {7: "owner"}),
    "a truth is no number": ({"is_boss": 1, "https://example.com/level": True}, {}),
    "no text": ({"groups": None}, {}),
    "objects": ({"groups": [{"name": "marketing"}, ["marketing"]]}, {}),
    "a path that ends early": ({"realm_access": "roles"}, {}),
}


@pytest.mark.parametrize(("claims", "roles"), WANTED.values(), ids=WANTED)
def test_claims_give_roles(claims: dict[str, Any], roles: dict[int, str]) -> None:
    assert wanted_roles(RULES, claims) == roles


CHANGES: dict[str, tuple[dict[int, str], dict[int, str], frozenset[int]]] = {
    "a first sign-in": ({}, {3: "editor"}, frozenset()),
    "the same again": ({3: "editor"}, {3: "editor"}, frozenset()),
    "a group removed": ({3: "editor", 4: "viewer"}, {4: "viewer"}, frozenset({3})),
    "all groups removed": ({3: "editor", 4: "viewer"}, {}, frozenset({3, 4})),
    "another role": ({3: "owner"}, {3: "viewer"}, frozenset()),
}


@pytest.mark.parametrize(("before", "wanted", "ended"), CHANGES.values(), ids=CHANGES)
def test_what_a_sign_in_changes(
    before: dict[int, str], wanted: dict[int, str], ended: frozenset[int]
) -> None:
    found = role_changes(before, wanted)
    assert (found.granted, found.ended) == (wanted, ended)


def test_groups_that_are_elsewhere_are_no_removed_groups() -> None:
    assert are_complete(RULES, {"groups": []})
    assert not are_complete(RULES, {"_claim_names": {"groups": "src1"}})
    assert are_complete(RULES, {"_claim_names": {"photos": "src1"}})


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
