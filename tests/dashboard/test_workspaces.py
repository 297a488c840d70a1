"""Pages of several workspaces: their addresses, what each role sees and may do, and the members' page."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.accounts import workspaces
from app.accounts.access import EDITOR, OWNER, VIEWER
from app.accounts.models import ApiKey, User, UserSession, Workspace, WorkspaceInvitation
from app.accounts.workspaces import access_of
from app.analytics.sharing.models import StatisticsShare
from app.audit.models import AuditEntry
from app.core.clock import now
from app.core.extensions import db
from app.links.models import Link
from app.notifications.models import Delivery, NotificationHandler
from tests.accounts.test_workspaces import shared
from tests.dashboard.conftest import Desk
from tests.factories import PASSWORD, Factory

LINK = {"location_url": "https://example.com/", "url": "made"}


@pytest.fixture
def workspace(alice: User) -> Workspace:
    return shared(alice)


@pytest.fixture
def enter(workspace: Workspace, client: FlaskClient, bob: User) -> Callable[[str], Desk]:
    """`enter("viewer")`: the dashboard with bob signed in, who is a member in this role."""

    def make(role: str) -> Desk:
        workspaces.add_member(workspace, bob, role)
        db.session.commit()
        return Desk(client, bob.email).sign_in()

    return make


def made_in(session: Session, workspace_id: int) -> list[str]:
    session.rollback()
    return list(session.scalars(select(Link.url).where(Link.workspace_id == workspace_id)))


def test_of_one_alone_no_address_says_it(desk: Desk) -> None:
    page = desk.get("/links/")
    assert page.status_code == 200
    assert "/dashboard/w/" not in page.text
    assert 'id="workspaces"' not in page.text


def test_addresses_lead_to_the_own_one_of_several(desk: Desk, alice: User, workspace: Workspace) -> None:
    own = access_of(alice).workspace_id
    for path in ("/links/", "/statistics/?type=hour", "/links/new"):
        answer = desk.get(path)
        assert (answer.status_code, answer.location) == (302, f"/dashboard/w/{own}{path}")
        assert desk.get(f"/w/{own}{path}").status_code == 200
    assert desk.get("/account/").status_code == 200


def test_a_page_leads_to_pages_of_its_workspace(desk: Desk, alice: User, workspace: Workspace) -> None:
    page = desk.get("/w/5000/links/").text
    found = set(re.findall(r'href="/dashboard/w/(\d+)/links/"', page))
    assert found == {"5000", str(access_of(alice).workspace_id)}  # the switcher has the other
    for part in (
        "statistics",
        "projects",
        "domains",
        "pixels",
        "handlers",
        "keys",
        "imports",
        "trash",
        "workspace",
    ):
        assert f'href="/dashboard/w/5000/{part}/"' in page
        assert desk.get(f"/w/5000/{part}/").status_code == 200
    assert 'href="/dashboard/account/"' in page


def test_two_tabs_show_two(desk: Desk, alice: User, workspace: Workspace, session: Session) -> None:
    own = access_of(alice).workspace_id
    answer = desk.post("/w/5000/links/new", LINK)
    assert urlsplit(answer.location).path.startswith("/dashboard/w/5000/links/")
    desk.post(f"/w/{own}/links/new", {**LINK, "url": "mine"})
    assert (made_in(session, 5000), made_in(session, own)) == (["made"], ["mine"])
    link = session.scalars(select(Link).where(Link.workspace_id == 5000)).one()
    assert "/made" in desk.get("/w/5000/links/").text
    assert "/made" not in desk.get(f"/w/{own}/links/").text
    assert desk.get(f"/w/5000/links/{link.id}").status_code == 200
    assert desk.get(f"/w/{own}/links/{link.id}").status_code == 404


# --- the members' page


def test_an_invitation_is_accepted(desk: Desk, workspace: Workspace, bob: User, client: FlaskClient) -> None:
    page = desk.post("/w/5000/workspace/invite", {"email": bob.email, "role": VIEWER})
    token = re.search(r"/dashboard/join\?token=([A-Za-z0-9_-]+)", page.text)
    assert token
    assert bob.email in desk.get("/w/5000/workspace/").text
    assert "another e-mail address" in desk.get(f"/join?token={token[1]}").text
    assert desk.post("/join", {"token": token[1]}).status_code == 403
    bobs = Desk(client.application.test_client(), bob.email).sign_in()
    assert "Shared" in bobs.get(f"/join?token={token[1]}").text
    answer = bobs.post("/join", {"token": token[1]})
    assert (answer.status_code, answer.location) == (303, "/dashboard/w/5000/links/")
    assert bobs.get("/w/5000/links/").status_code == 200
    assert bobs.get(f"/join?token={token[1]}").status_code == 404


def test_roles_removal_and_leaving(
    desk: Desk, alice: User, bob: User, workspace: Workspace, session: Session
) -> None:
    member = workspaces.add_member(workspace, bob, EDITOR)
    session.commit()
    own = next(one.id for one in workspaces.members(5000) if one.user_id == alice.id)
    id_ = member.id
    assert desk.post(f"/w/5000/workspace/members/{own}/role", {"role": VIEWER}).status_code == 303
    assert "A workspace needs an owner" in desk.get("/w/5000/workspace/").text
    session.expire_all()
    assert [one.role for one in workspaces.members(5000)] == [OWNER, EDITOR]
    desk.post(f"/w/5000/workspace/members/{id_}/role", {"role": OWNER})
    session.expire_all()
    assert [one.role for one in workspaces.members(5000)] == [OWNER, OWNER]
    assert desk.post("/w/5000/workspace/leave", {}).location == "/dashboard/"
    session.expire_all()
    assert [one.user_id for one in workspaces.members(5000)] == [bob.id]
    assert desk.get("/w/5000/workspace/").status_code == 404


KEYS: dict[str, tuple[dict[str, str], int, list[bool]]] = {
    "not sent": ({"scope": "write"}, 200, [False]),
    "not chosen": ({"scope": "write", "changes_members": "0"}, 200, [False]),
    "chosen": ({"scope": "write", "changes_members": "1"}, 200, [True]),
    "of a key that reads": ({"scope": "read", "changes_members": "1"}, 422, []),
    "of a key that creates": ({"scope": "create", "changes_members": "1"}, 422, []),
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_changes_members_where_that_is_chosen(name: str, desk: Desk, session: Session) -> None:
    sent, status, made = KEYS[name]
    assert 'name="changes_members" value="1" checked' not in desk.get("/keys/new").text
    assert desk.post("/keys/new", {"name": "k", **sent}).status_code == status
    assert list(session.scalars(select(ApiKey.changes_members))) == made
    assert ("Change members" in desk.get("/keys/").text) is (made == [True])
    entries = session.scalars(select(AuditEntry).where(AuditEntry.action == "api_key.created"))
    assert [entry.changes["changes_members"] for entry in entries] == made
    if made:
        assert f"Change members: {'Yes' if made[0] else 'No'}" in desk.get("/account/audit-log").text


# --- the password once more


def leave_alone(session: Session) -> None:
    """As though the password was typed an hour ago."""
    session.execute(update(UserSession).values(password_datetime=now() - dt.timedelta(hours=1)))
    session.commit()


def test_who_comes_in_and_who_is_owner_needs_the_password(
    desk: Desk, bob: User, workspace: Workspace, session: Session
) -> None:
    member = workspaces.add_member(workspace, bob, EDITOR)
    session.commit()
    id_ = member.id
    role, removal = f"/w/5000/workspace/members/{id_}/role", f"/w/5000/workspace/members/{id_}/remove"
    for path, sent in (
        ("/w/5000/workspace/invite", {"email": "z@example.com", "role": VIEWER}),
        (role, {"role": OWNER}),
        (removal, {}),
    ):
        leave_alone(session)
        for wrong in ({}, {"own_password": "wrong"}):
            page = desk.post(path, {**sent, **wrong})
            assert (page.status_code, 'name="own_password"' in page.text) == (422, True), path
        session.expire_all()
        assert [one.role for one in workspaces.members(5000)] == [OWNER, EDITOR]
        assert not session.scalars(select(WorkspaceInvitation.id)).all()
    assert desk.post(role, {"role": VIEWER}).status_code == 303, "demoting needs none"
    page = desk.post(
        "/w/5000/workspace/invite", {"email": "z@example.com", "role": VIEWER, "own_password": PASSWORD}
    )
    assert "/dashboard/join?token=" in page.text
    leave_alone(session)
    assert desk.post(role, {"role": OWNER, "own_password": PASSWORD}).status_code == 303
    session.expire_all()
    assert [one.role for one in workspaces.members(5000)] == [OWNER, OWNER]
    leave_alone(session)
    assert desk.post(removal, {"own_password": PASSWORD}).status_code == 303
    session.expire_all()
    assert [one.role for one in workspaces.members(5000)] == [OWNER]


# --- deletion


def test_a_workspace_is_deleted_and_restored(
    desk: Desk, workspace: Workspace, bob: User, client: FlaskClient, session: Session
) -> None:
    workspaces.add_member(workspace, bob, EDITOR)
    session.commit()
    bobs = Desk(client.application.test_client(), bob.email).sign_in()
    assert bobs.get("/w/5000/links/").status_code == 200
    assert 'href="/dashboard/w/5000/workspace/delete"' in desk.get("/w/5000/workspace/").text
    answer = desk.post("/w/5000/workspace/delete", {"own_name": "Shared", "own_password": PASSWORD})
    assert (answer.status_code, answer.location) == (303, "/dashboard/")
    for one in (desk, bobs):
        assert one.get("/w/5000/links/").status_code == 404
    assert bobs.post("/workspaces/5000/restore", {}).status_code == 404
    page = desk.get("/workspace/").text
    assert "Shared" in page
    assert desk.post("/workspaces/5000/restore", {}).location == "/dashboard/w/5000/workspace/"
    assert bobs.get("/w/5000/links/").status_code == 200


# --- the audit log of a workspace


def test_owners_see_what_members_did(
    enter: Callable[[str], Desk], alice: User, bob: User, client: FlaskClient, session: Session
) -> None:
    bobs = enter(EDITOR)
    for number in ("5000", str(access_of(bob).workspace_id)):
        bobs.post(f"/w/{number}/keys/new", {"name": f"key in {number}", "scope": "read"})
    desk = Desk(client.application.test_client(), alice.email).sign_in()
    path = "/w/5000/workspace/audit-log"
    assert f'href="/dashboard{path}"' in desk.get("/w/5000/workspace/").text
    page = desk.get(path).text
    for text in ("key in 5000", bob.email, "127.0.0.0/24"):
        assert text in page
    assert f"key in {access_of(bob).workspace_id}" not in page
    assert "Signed in" not in page
    assert "key in 5000" not in desk.get(f"{path}?email=alice").text
    assert "key in 5000" in desk.get(f"{path}?email=bob&group=keys").text
    rows = [json.loads(line) for line in desk.get(f"{path}/file.ndjson").text.splitlines()]
    assert {row["workspace_id"] for row in rows} == {5000}
    assert [(row["action"], row["actor_email"]) for row in rows[:1]] == [("audit_log.exported", alice.email)]
    assert ("api_key.created", bob.email) in [(row["action"], row["actor_email"]) for row in rows]


@pytest.fixture
def outgoing(
    workspace: Workspace, bob: User, alice: User, factory: Factory, session: Session
) -> tuple[int, dict[str, Any]]:
    """Bob's membership, and a row of each kind that he made there, with one of alice's beside them."""
    member = workspaces.add_member(workspace, bob, EDITOR)
    session.commit()
    own = {"workspace_id": workspace.id, "user_id": bob.id}
    hook = {"settings": {"target_url": "https://n8n.example/"}, "events": ["link.clicked"]}
    rows = {
        "handlers": NotificationHandler(
            **own, type="email", name="zqmail", settings={"email": "b@example.com"}
        ),
        "subscriptions": NotificationHandler(**own, type="subscription", name="zqhook", **hook),
        "shares": StatisticsShare(**own, name="zqshare", digest="d", sealed_token={"token": "t"}),
        "other": NotificationHandler(
            **own | {"user_id": alice.id}, type="email", name="zqother", settings={"email": "a@example.com"}
        ),
    }
    for row in rows.values():
        factory.add(row)
    factory.add(Delivery(handler_id=rows["handlers"].id, type="test", webhook_id="w", data={}, due=now()))
    session.commit()
    return member.id, {kind: (type(row), row.id) for kind, row in rows.items()}


def still_on(session: Session, rows: dict[str, Any]) -> set[str]:
    session.expire_all()
    found = {kind: session.get(model, id_) for kind, (model, id_) in rows.items()}
    return {
        kind
        for kind, row in found.items()
        if row is not None and (row.revoked_datetime is None if kind == "shares" else row.is_enabled)
    }


@pytest.mark.parametrize("kept", [set(), {"handlers"}, {"subscriptions"}, {"shares"}])
def test_a_removal_lists_and_switches_off(
    kept: set[str], desk: Desk, outgoing: tuple[int, dict[str, Any]], session: Session
) -> None:
    id_, rows = outgoing
    path = f"/w/5000/workspace/members/{id_}/remove"
    page = desk.get(path).text
    for kind in ("handlers", "subscriptions", "shares"):
        assert f'name="off" value="{kind}" checked' in page
    assert all(name in page for name in ("zqmail", "zqhook", "zqshare")) and "zqother" not in page
    shown = ["handlers", "subscriptions", "shares"]
    desk.post(path, {"shown": shown, "off": [kind for kind in shown if kind not in kept]})
    assert still_on(session, rows) == {"other", *kept}
    waiting = session.scalar(select(Delivery.due).where(Delivery.webhook_id == "w"))
    assert (waiting is not None) == ("handlers" in kept)
    assert len(workspaces.members(5000)) == 1
