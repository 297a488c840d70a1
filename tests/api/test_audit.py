"""API of the audit log: whose entries it lists, its filters, and what they say."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert

from app.accounts import keys, workspaces
from app.accounts.access import EDITOR, Access
from app.accounts.models import User, Workspace
from app.accounts.workspaces import access_of
from app.audit.models import AuditEntry
from app.audit.services import Object, record
from app.core.actor import Actor, Origin, act_as, set_origin
from app.core.clock import now
from app.core.extensions import db
from tests.accounts.test_workspaces import member_of, shared
from tests.api.shape import always
from tests.clients import Api
from tests.writes import write

FIELDS = [
    "id",
    "datetime",
    "action",
    "count",
    "account_id",
    "account_email",
    "workspace_id",
    "actor_way",
    "actor_id",
    "actor_email",
    "actor_name",
    "key_prefix",
    "object_type",
    "object_id",
    "object_name",
    "changes",
    "network",
    "request_id",
]


def actions(api: Api, query: str = "") -> list[str]:
    answer = api.get(f"/audit?{query}")
    assert answer.status_code == 200, answer.text
    return [entry["action"] for entry in answer.json["data"]]


def act(user: User | None, **more: Any) -> None:
    act_as(Actor("dashboard", user.email, user.id, user.email, **more) if user else Actor("command", "root"))


@pytest.mark.databases
def test_an_entry(api: Api, alice: User) -> None:
    act_as(
        Actor("api", "ci", alice.id, alice.email, "wp_abcdefgh", workspace_id=access_of(alice).workspace_id)
    )
    set_origin(Origin("203.0.113.0/24", "abc-1"))
    keys.create_key(access_of(alice), "deploy", "read")
    db.session.commit()
    answer = api.get("/audit?action=api_key.created&order_type=DESC")
    always(answer)
    entry = answer.json["data"][0]
    assert list(entry) == FIELDS
    assert entry | {"id": 0, "datetime": "", "object_id": 0} == {
        "id": 0, "datetime": "", "action": "api_key.created", "count": 1,
        "account_id": alice.id, "account_email": alice.email, "workspace_id": access_of(alice).workspace_id,
        "actor_way": "api", "actor_id": alice.id, "actor_email": alice.email, "actor_name": "ci",
        "key_prefix": "wp_abcdefgh", "object_type": "api_key", "object_id": 0, "object_name": "deploy",
        "changes": {"scope": "read", "changes_members": False, "key": entry["changes"]["key"]},
        "network": "203.0.113.0/24", "request_id": "abc-1",
    }  # fmt: skip


def test_who_else_did_it_is_neither_shown_nor_found(api: Api, alice: User, bob: User) -> None:
    act(bob)
    set_origin(Origin("203.0.113.0/24", "abc-1"))
    record(db.session, "user.disabled", account=alice)
    db.session.commit()
    entry = api.get("/audit?action=user.disabled").json["data"][0]
    hidden = ("actor_id", "actor_email", "actor_name", "key_prefix", "network", "request_id")
    assert [entry[name] for name in hidden] == [None, "", "", "", "", ""]
    assert actions(api, "actor_email=bob") == []


# --- of a workspace that several share


def of_members(owner: User, member: User, session: Any) -> int:
    """A workspace of two; what each of them did in it, in another one, and in their account."""
    workspace = shared(owner, (member, EDITOR))
    for user, name in ((owner, "owners"), (member, "members")):
        for where, place in ((workspace.id, "here"), (access_of(user).workspace_id, "elsewhere")):
            act(user, workspace_id=where)
            set_origin(Origin("203.0.113.0/24", "abc-1"))
            record(session, "link.deleted", on=Object("link", 1, f"{name} {place}"))
    act(member)
    record(session, "sign_out", account=member)
    session.commit()
    return workspace.id


@pytest.mark.parametrize(
    ("role", "scope", "seen"),
    [
        ("owner", "write", {"owners here", "members here"}),
        ("owner", "read", {"owners here", "members here"}),
        ("editor", "write", {"members here"}),
        ("viewer", "write", {"members here"}),
    ],
)
def test_owners_read_all_of_their_workspace(
    role: str, scope: str, seen: set[str], app: Flask, session: Any, alice: User, bob: User
) -> None:
    mine = of_members(alice, bob, session)
    reader = alice if role == "owner" else bob
    if role == "viewer":
        write(workspaces.change_role, member_of(session.get_one(Workspace, mine), bob), role)
    _, key = write(keys.create_key, Access(reader, mine, role), "k", scope)
    found = Api(app.test_client(), key).get("/audit?group=deletions&results_per_page=1000").json["data"]
    assert {one["object_name"] for one in found} == seen
    assert {one["network"] for one in found} == {"203.0.113.0/24"}
    assert {one["workspace_id"] for one in found} == {mine}
    sign_outs = Api(app.test_client(), key).get("/audit?action=sign_out").json["data"]
    assert len(sign_outs) == (0 if role == "owner" else 1)
    by_bob = Api(app.test_client(), key).get("/audit?actor_email=bob%40&group=deletions").json["data"]
    assert [one["object_name"] for one in by_bob] == ["members here"]


@pytest.fixture
def entries(alice: User, bob: User) -> None:
    """Four entries of alice, a day apart; the last is of tomorrow. Another is bob's."""
    moment = now().replace(hour=12, minute=0, second=0, microsecond=0)
    rows = [
        (alice, "sign_in", moment - dt.timedelta(days=3), alice),
        (alice, "link.deleted", moment - dt.timedelta(days=2), alice),
        (alice, "user.disabled", moment - dt.timedelta(days=1), bob),
        (alice, "domain.created", moment + dt.timedelta(days=1), alice),
        (bob, "sign_out", moment, bob),
    ]
    made = [
        {"account_id": who.id, "action": action, "datetime": when, "actor_id": by.id, "actor_email": by.email}
        for who, action, when, by in rows
    ]
    db.session.execute(insert(AuditEntry), made)
    db.session.commit()


def day(days: int) -> str:
    return f"{now() + dt.timedelta(days=days):%Y-%m-%d}"


FILTERS: dict[str, tuple[Callable[[], str], list[str]]] = {
    "a group": (lambda: "group=deletions", ["link.deleted"]),
    "an empty group": (lambda: "group=domains&action=", ["domain.created"]),
    "an action": (lambda: "action=domain.created", ["domain.created"]),
    "a group of none": (lambda: "group=members", []),
    "from a day": (lambda: f"group=domains&datetime_start={day(1)}", ["domain.created"]),
    "from a later day": (lambda: f"datetime_start={day(2)}", []),
    "until a day, with all of it": (lambda: f"datetime_end={day(-2)}", ["sign_in", "link.deleted"]),
    "between": (lambda: f"datetime_start={day(-2)}&datetime_end={day(-1)}", ["link.deleted", "user.disabled"]),
    "until a moment": (lambda: f"datetime_end={day(-2)} 11:59:59", ["sign_in"]),
    "an actor": (lambda: "actor_email=ALICE%40&group=deletions", ["link.deleted"]),
    "an actor, literally": (lambda: "actor_email=%25", []),
    "newest first": (lambda: f"order_by=datetime&order_type=DESC&datetime_end={day(-1)}", ["user.disabled", "link.deleted", "sign_in"]),
}  # fmt: skip


@pytest.mark.databases
@pytest.mark.usefixtures("entries")
def test_filters(api: Api) -> None:
    for name, (query, found) in FILTERS.items():
        assert actions(api, query()) == found, name
