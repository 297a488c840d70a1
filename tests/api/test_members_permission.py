"""The permission `members` of a key, the mail to owners, and the limit of invitations."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.accounts import member_invitations, workspaces
from app.accounts.access import EDITOR, OWNER, VIEWER, Access
from app.accounts.keys import create_key
from app.accounts.models import User, WorkspaceInvitation
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.notifications.models import SystemEmail
from tests.api.shape import problem
from tests.clients import Api
from tests.factories import Factory

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
