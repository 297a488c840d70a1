"""API of workspaces: what a key sees and may do by its role, the members, the permission `members`, and invitations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.accounts import member_invitations, workspaces
from app.accounts.access import EDITOR, OWNER, VIEWER, Access
from app.accounts.keys import create_key
from app.accounts.models import User, Workspace, WorkspaceInvitation
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.links.models import Link
from app.notifications.models import SystemEmail
from tests.accounts.test_workspaces import shared
from tests.api.shape import problem
from tests.clients import Api
from tests.factories import Factory
from tests.users import access_to
from tests.writes import write

PIXEL = {"type": "social_a", "name": "n", "pixel": "1"}


@pytest.fixture
def workspace(alice: User) -> Workspace:
    return shared(alice)


@pytest.fixture
def enter(workspace: Workspace, client: FlaskClient) -> Callable[..., Api]:
    """`enter(bob, "viewer")`: a client of the API with a key of that member to the workspace."""

    def make(user: User, role: str = OWNER, scope: str = "write", *, changes_members: bool = True) -> Api:
        if access_to(user, workspace.id) is None:
            workspaces.add_member(workspace, user, role)
        access = Access(user, workspace.id, role)
        key = create_key(access, "test", scope, changes_members=changes_members and scope == "write")[1]
        db.session.commit()
        return Api(client, key)

    return make


def test_user_says_the_workspace(api: Api, alice: User, enter: Callable[..., Api]) -> None:
    own = access_of(alice).workspace_id
    found = api.get("/user").json["data"]
    assert found["workspace"] == {"id": own, "name": "alice@example.com", "role": "owner"}
    assert enter(alice).get("/user").json["data"]["workspace"] == {
        "id": 5000,
        "name": "Shared",
        "role": "owner",
    }


def test_rows_are_the_workspaces(api: Api, alice: User, bob: User, enter: Callable[..., Api]) -> None:
    alices, bobs = enter(alice), enter(bob, EDITOR)
    id_ = bobs.post("/links", {"url": "shared", "location_url": "https://example.com/"}).json["data"]["id"]
    assert alices.get(f"/links/{id_}").json["data"]["url"] == "shared"
    assert db.session.get_one(Link, id_).user_id == bob.id
    assert [row["id"] for row in alices.get("/links").json["data"]] == [id_]
    assert alices.post(f"/links/{id_}", {"title": "t"}).status_code == 200
    assert api.get("/links").json["data"] == []
    problem(api.get(f"/links/{id_}"), 404)
    problem(api.post(f"/links/{id_}", {"title": "x"}), 404)
    # ids of the member's other workspace can't be named either
    other = api.post("/pixels", PIXEL).json["data"]["id"]
    assert alices.post(f"/links/{id_}", {"pixels_ids": other}).status_code == 422
    # and the alias is taken for everybody else
    assert api.post("/links", {"url": "shared", "location_url": "https://example.com/"}).status_code == 409


def test_rights_end_with_the_next_request(
    session: Session, bob: User, workspace: Workspace, enter: Callable[..., Api]
) -> None:
    api = enter(bob, EDITOR)
    member = next(one for one in workspaces.members(workspace.id) if one.user_id == bob.id)
    assert api.post("/pixels", PIXEL).status_code == 201
    workspaces.change_role(member, VIEWER)
    session.commit()
    problem(api.post("/pixels", PIXEL), 403)
    assert api.get("/pixels").status_code == 200
    workspaces.remove_member(member)
    session.commit()
    problem(api.get("/pixels"), 401)


# --- the workspace and its members


def test_its_name(alice: User, enter: Callable[..., Api]) -> None:
    api = enter(alice)
    assert api.get("/workspace").json["data"] | {"datetime": ""} == {
        "id": 5000, "name": "Shared", "role": "owner", "last_datetime": None, "datetime": "",
    }  # fmt: skip
    assert api.post("/workspace", {"name": "Marketing"}).json == {"data": {"id": 5000}}
    assert api.get("/workspace").json["data"]["name"] == "Marketing"
    for name in ("", "  ", "n" * 129):
        problem(api.post("/workspace", {"name": name}), 422)


def test_members(alice: User, bob: User, enter: Callable[..., Api]) -> None:
    api, bobs = enter(alice), enter(bob, EDITOR)
    found = bobs.get("/workspace/members").json["data"]
    assert [(one["email"], one["role"]) for one in found] == [(alice.email, "owner"), (bob.email, "editor")]
    ids = [one["id"] for one in found]
    assert bobs.get(f"/workspace/members/{ids[0]}").json["data"] == found[0]
    assert [one["id"] for one in bobs.get("/workspace/members?role=editor").json["data"]] == [ids[1]]
    problem(bobs.post(f"/workspace/members/{ids[1]}", {"role": "owner"}), 403)
    assert api.post(f"/workspace/members/{ids[1]}", {"role": "viewer"}).status_code == 200
    problem(api.post(f"/workspace/members/{ids[1]}", {"role": "king"}), 422)
    for answer in (
        api.post(f"/workspace/members/{ids[0]}", {"role": "viewer"}),
        api.delete(f"/workspace/members/{ids[0]}"),
    ):
        problem(answer, 409)
        assert answer.json["errors"][0]["code"] == "last_owner"
    assert api.delete(f"/workspace/members/{ids[1]}").status_code == 204
    problem(bobs.get("/user"), 401)


def test_an_invitation(alice: User, bob: User, workspace: Workspace, enter: Callable[..., Api]) -> None:
    api = enter(alice)
    headers = {"Prefer": "return=representation"}
    made = api.post("/workspace/members", {"email": "Bob@example.com", "role": "editor"}, headers=headers)
    assert made.status_code == 201
    shown = made.json["data"]
    assert (shown["email"], shown["role"]) == ("bob@example.com", "editor")
    assert made.headers["Location"].endswith(f"/api/workspace/invitations/{shown['id']}")
    token = shown["url"].partition("?token=")[2]
    [listed] = api.get("/workspace/invitations").json["data"]
    assert listed == {name: value for name, value in shown.items() if name != "url"}
    write(member_invitations.accept, token, bob)
    assert access_to(bob, workspace.id) == Access(bob, workspace.id, EDITOR)
    assert api.get("/workspace/invitations").json["data"] == []
    problem(api.post("/workspace/members", {"email": bob.email, "role": "editor"}), 422)


WITH_MAIL = pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:2525", BASE_URL="https://go.example")
BOB = {"email": "new@example.com", "role": "editor"}


def mails(session: Session) -> list[tuple[str, str, str]]:
    """Address, title and text of each mail that waits, the oldest first."""
    rows: list[Any] = list(session.scalars(select(SystemEmail).order_by(SystemEmail.id)))
    return [(row.email, row.content["title"], row.content["text"]) for row in rows]


def member_of(alice: User, user: User, role: str) -> int:
    workspace = workspaces.memberships(alice)[0].workspace
    id_ = workspaces.add_member(workspace, user, role).id
    db.session.commit()
    return id_


def allowed(factory: Factory, client: FlaskClient, user: User) -> Api:
    return Api(client, factory.key(user, changes_members=True)[1])


@WITH_MAIL
def test_a_key_without_it_reads_members_and_changes_none(
    api: Api, alice: User, bob: User, session: Session
) -> None:
    member = member_of(alice, bob, VIEWER)
    invitation, _ = member_invitations.invite(access_of(alice), "z@example.com", VIEWER)
    session.commit()
    for answer in (
        api.post("/workspace/members", BOB),
        api.post(f"/workspace/members/{member}", {"role": OWNER}),
        api.delete(f"/workspace/members/{member}"),
        api.delete(f"/workspace/invitations/{invitation.id}"),
    ):
        problem(answer, 403)
        assert [one["code"] for one in answer.json["errors"]] == ["members_permission"]
        assert "`members`" in answer.json["detail"]
    assert [one["role"] for one in api.get("/workspace/members").json["data"]] == [OWNER, VIEWER]
    assert [one["email"] for one in api.get("/workspace/invitations").json["data"]] == ["z@example.com"]
    assert mails(session) == []
    assert api.post("/workspace", {"name": "Renamed"}).status_code == 200, "the name is no member"


@WITH_MAIL
def test_every_owner_is_told_of_each_change(
    alice: User, bob: User, session: Session, factory: Factory, client: FlaskClient
) -> None:
    carol = factory.user("carol@example.com", verified_email="carol@example.com", language="de")
    member, other = member_of(alice, bob, EDITOR), member_of(alice, carol, OWNER)
    api = allowed(factory, client, alice)
    told: dict[str, list[tuple[str, str]]] = {}

    def after(name: str, status: int, expected: int) -> None:
        assert status == expected
        told[name] = [(email, text) for email, _, text in mails(session) if email != BOB["email"]]
        for row in session.scalars(select(SystemEmail)):
            session.delete(row)
        session.commit()

    after("invited", api.post("/workspace/members", BOB).status_code, 201)
    id_ = session.scalars(select(WorkspaceInvitation.id)).one()
    after("revoked", api.delete(f"/workspace/invitations/{id_}").status_code, 204)
    after("role", api.post(f"/workspace/members/{member}", {"role": OWNER}).status_code, 200)
    after("same", api.post(f"/workspace/members/{member}", {"role": OWNER}).status_code, 200)
    after("demoted", api.post(f"/workspace/members/{other}", {"role": VIEWER}).status_code, 200)
    after("removed", api.delete(f"/workspace/members/{member}").status_code, 204)
    assert {name: sorted(email for email, _ in found) for name, found in told.items()} == {
        "invited": [alice.email, carol.email],
        "revoked": [alice.email, carol.email],
        "role": [alice.email, bob.email, carol.email],
        "same": [],
        "demoted": [alice.email, bob.email, carol.email],  # who is owner no more hears it, too
        "removed": [alice.email, bob.email],
    }
    english, german = told["invited"]
    assert english[1].startswith("new@example.com was invited to the workspace “alice@example.com”.")
    assert "Role: Editor." in english[1]
    assert "of alice@example.com" in english[1]
    assert "Rolle: " in german[1]
    assert "another role" in dict(told["role"])[alice.email]
    assert "was removed" in dict(told["removed"])[alice.email]
    assert "was revoked" in dict(told["revoked"])[alice.email]


def test_without_a_mail_server_nothing_is_sent_and_nothing_fails(
    alice: User, bob: User, session: Session, factory: Factory, client: FlaskClient
) -> None:
    member, api = member_of(alice, bob, EDITOR), allowed(factory, client, alice)
    assert api.post("/workspace/members", BOB).status_code == 201
    assert api.delete(f"/workspace/members/{member}").status_code == 204
    assert mails(session) == []


@WITH_MAIL
def test_one_user_invites_so_many_a_day_by_whatever_key_and_workspace(
    alice: User, bob: User, session: Session, client: FlaskClient, factory: Factory
) -> None:
    second = workspaces.create(alice, "Second")
    session.commit()
    apis = []
    for workspace_id in (access_of(alice).workspace_id, second.id):
        key = create_key(Access(alice, workspace_id, OWNER), "k", changes_members=True)[1]
        session.commit()
        apis.append(Api(client, key))
    most = member_invitations.BY_USER.amount
    for number in range(most - 1):
        sent = {"email": f"stranger{number}@example.com", "role": VIEWER}
        assert apis[number % 2].post("/workspace/members", sent).status_code == 201
    again = {"email": "stranger0@example.com", "role": VIEWER}
    assert apis[0].post("/workspace/members", again).status_code == 201, "the last one: sent again"
    before = len(mails(session)), session.scalar(select(func.count()).select_from(WorkspaceInvitation))
    for api in apis:
        for email in ("stranger0@example.com", "one.more@example.com"):
            answer = api.post("/workspace/members", {"email": email, "role": VIEWER})
            problem(answer, 429)
            assert answer.json["errors"][0]["code"] == "too_many_invitations"
            assert 23 * 3600 < int(answer.headers["Retry-After"]) <= 24 * 3600
    session.expire_all()
    after = len(mails(session)), session.scalar(select(func.count()).select_from(WorkspaceInvitation))
    assert after == before
    assert allowed(factory, client, bob).post("/workspace/members", BOB).status_code == 201, "others may"
