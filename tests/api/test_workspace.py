"""API of workspaces: what a key sees and may do by its user's role, and the members."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from sqlalchemy.orm import Session

from app.accounts import member_invitations, workspaces
from app.accounts.access import Access
from app.accounts.keys import create_key
from app.accounts.models import User, Workspace
from app.accounts.rights import EDITOR, OWNER, VIEWER
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.links.models import Link
from tests.api.shape import problem
from tests.clients import Api
from tests.users import access_to
from tests.writes import write

PIXEL = {"type": "social_a", "name": "n", "pixel": "1"}


@pytest.fixture
def workspace(alice: User, session: Session) -> Workspace:
    """Alice's, beside the one that she has alone. Its id is no user's."""
    session.add(Workspace(id=5000, name="Shared"))
    session.flush()
    found = session.get_one(Workspace, 5000)
    workspaces.add_member(found, alice, OWNER)
    session.commit()
    return found


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
