"""A workspace with a row of each kind, and people who are in it, were in it, or never were.

No id of a workspace is one of a user, so that a mix-up of the two shows. Every row has a name with `MARK` in
it, and every secret of a handler has `SECRET`: an answer that holds them has shown them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select
from werkzeug.test import TestResponse

from app.accounts import invitations, member_invitations, workspaces
from app.accounts.access import EDITOR, OWNER, VIEWER, Access
from app.accounts.keys import create_key
from app.accounts.models import User, UserSession, Workspace, WorkspaceMember
from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.extensions import db
from app.import_export.models import LinkImport
from app.links.models import LinkChange, SavedView
from app.notifications.models import Delivery
from app.trash.models import Trashed
from tests.dashboard.conftest import Desk
from tests.factories import Factory
from tests.rights.snapshots import Snapshot, snapshot_of
from tests.rights.table import MARK, OF_ONE

SECRET = "zqsecret"
FIRST_ID = 4999  # of a workspace: all others come after it
# people, and what they are in the workspace
MEMBERS = {
    "owner": OWNER,
    "editor": EDITOR,
    "viewer": VIEWER,
    "demoted": EDITOR,  # to a viewer, once everybody is signed in
    "former": EDITOR,  # removed then
    "disabled": OWNER,  # disabled then
}
# of the last use of keys, which is noted once a minute: these tests may take longer
LATER = now() + dt.timedelta(days=1)
STRANGERS = ("stranger", "admin")
PEOPLE = (*MEMBERS, *STRANGERS)
# PostgreSQL as well, with the long tests
DATABASES = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.full)], indirect=True
)


@dataclass
class World:
    """The people with their keys and cookies, the ids of the rows, and the database as it is to be found."""

    app: Flask
    snapshot: Snapshot
    workspace_id: int = 0
    ids: dict[str, Any] = field(default_factory=dict)  # of the workspace's rows
    own: dict[str, dict[str, Any]] = field(default_factory=dict)  # of each person's own rows
    keys: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    before: Mapping[str, object] = field(default_factory=dict)

    def keep(self) -> None:
        """Remember the database as it is now."""
        self.snapshot.keep()
        self.before = self.snapshot.prints()

    def rows_of_it(self) -> Mapping[str, object]:
        """A value for the workspace's rows in each table."""
        return self.snapshot.prints(self.workspace_id)

    def changed(self) -> set[str]:
        """The tables whose rows are not as they were kept. Brings them back."""
        seen = self.snapshot.prints()
        found = {name for name in seen if self.before.get(name) != seen[name]}
        if found:
            self.snapshot.restore(found)
        return found

    def call_api(self, person: str, method: str, path: str, **sent: Any) -> TestResponse:
        headers = {"Authorization": f"Bearer {self.keys[person]}"} if person in self.keys else {}
        return self.app.test_client().open(
            path, method=method, headers=headers, environ_base=address_of(person), **sent
        )

    def open(
        self, person: str, method: str, path: str, data: Mapping[str, Any], **options: Any
    ) -> TestResponse:
        client = self.app.test_client()
        if person in self.cookies:
            client.set_cookie("waypost", self.cookies[person])
        if method == "POST":
            options["data"] = {"csrf_token": self.tokens.get(person, ""), **data}
        return client.open(path, method=method, environ_base=address_of(person), **options)


def address_of(person: str) -> dict[str, str]:
    """Each has an address of their own: wrong keys are counted by it."""
    return {"REMOTE_ADDR": f"198.51.100.{1 + sum(map(ord, person)) % 200}"}


def make_world(app: Flask, settings: Settings, factory: Factory) -> World:
    found = World(app, snapshot_of(settings))
    db.session.add(Workspace(id=FIRST_ID, name="Nobody's"))
    db.session.commit()
    factory.user("first@example.com")  # the admin of a new instance
    people = {name: factory.user(f"{name}@example.com", name=name) for name in PEOPLE}
    people["admin"].is_admin = True
    workspace = workspace_of(people["owner"])
    workspace.name = MARK
    members = {
        name: workspaces.add_member(workspace, people[name], role)
        for name, role in MEMBERS.items()
        if name != "owner"
    }
    workspaces.create(people["owner"], "Another")  # or the first could not be deleted
    db.session.commit()
    found.workspace_id = workspace.id
    for name, user in people.items():
        give_rows_of_their_own(found, name, user, workspace.id, factory)
    found.ids = dict(make_rows(found, people["owner"], factory))
    found.ids["member"] = members["viewer"].id
    end_rights(people, members["demoted"], members["former"])
    db.session.commit()
    found.keep()
    return found


def workspace_of(user: User) -> Workspace:
    return db.session.get_one(Workspace, access_of(user).workspace_id)


def give_rows_of_their_own(world: World, name: str, user: User, workspace_id: int, factory: Factory) -> None:
    """A session and a key to the workspace; of strangers to the one that they have."""
    is_member = name in MEMBERS
    access = Access(user, workspace_id, MEMBERS[name]) if is_member else access_of(user)
    begin_write(db.session)
    key, world.keys[name] = create_key(access, f"{OF_ONE} key of {name}", changes_members=True)
    key.last_datetime = LATER
    if name == "owner":
        for scope, holder in (("read", "reader"), ("create", "creator")):
            other, world.keys[holder] = create_key(access, holder, scope)
            other.last_datetime = LATER
    view = SavedView(**access.row_columns, name=f"{OF_ONE} {name}", key=name, query="state=off")
    db.session.add(view)
    db.session.commit()
    if name != "owner":
        factory.link(user, f"own-of-{name}")
    client = world.app.test_client()
    desk = Desk(client, user.email)
    desk.sign_in()
    world.tokens[name] = desk.token()
    cookie = client.get_cookie("waypost")
    assert cookie
    world.cookies[name] = cookie.value
    session = db.session.scalars(select(UserSession.id).where(UserSession.user_id == user.id)).one()
    world.own[name] = {"key": key.id, "view": view.id, "session": session}


def make_rows(world: World, owner: User, factory: Factory) -> Iterator[tuple[str, Any]]:
    """A row of each kind; some by the pages, since their pasts are what counts."""
    yield "project", factory.project(owner, name=f"{MARK} project").id
    yield "pixel", factory.pixel(owner, name=f"{MARK} pixel").id
    yield "domain", factory.domain(owner, f"{MARK}.example").id
    settings = {"webhook": f"http://127.0.0.1:9/{SECRET}", "secret": f"whsec_{SECRET}"}
    handler = factory.handler(owner, "webhook", name=f"{MARK} handler", settings=settings, is_enabled=True)
    yield "handler", handler.id
    delivery = factory.add(
        Delivery(handler_id=handler.id, type="test", webhook_id=f"{MARK}-1", data={"name": MARK})
    )
    yield "delivery", delivery.id
    target = {"target_url": f"http://127.0.0.1:9/{SECRET}", "secret": f"whsec_{SECRET}"}
    hook = factory.handler(
        owner,
        "subscription",
        name=f"{MARK} hook",
        settings=target,
        events=["link.clicked"],
        scope="workspace",
    )
    yield "subscription", hook.id
    link = factory.link(owner, f"{MARK}-link", title=f"{MARK} link", handlers=[handler])
    yield "link", link.id
    yield "share", factory.share(owner, name=f"{MARK} share")[0].id
    yield from pasts_of(world, owner, link.id, factory)
    begin_write(db.session)
    made, _ = member_invitations.invite(access_of(owner), f"{MARK}@example.com", VIEWER)
    invited, _ = invitations.invite(owner, email="invited@example.com")
    db.session.commit()
    yield "member invitation", made.id
    yield "invitation", invited.id


def pasts_of(world: World, owner: User, link_id: int, factory: Factory) -> Iterator[tuple[str, Any]]:
    """A change of a link, a bulk change, a deletion and an import."""
    doomed = factory.link(owner, f"{MARK}-doomed").id
    path = "/dashboard/links"
    for page, sent in (
        (f"{path}/{link_id}/switch", {}),
        (f"{path}/many", {"do": "on", "ids": [link_id]}),
        (f"{path}/{doomed}/delete", {}),
        ("/dashboard/imports/", {"file": (BytesIO(f"url,location_url\n{MARK}-in,https://example.com/\n".encode()), f"{MARK}.csv")}),
    ):  # fmt: skip
        answer = world.open("owner", "POST", page, sent)
        assert answer.status_code in {200, 303}, (page, answer.text)
    db.session.expire_all()
    changes = db.session.scalars(select(LinkChange).where(LinkChange.link_id == link_id)).all()
    yield "change", changes[0].id
    yield "changes", next(one.batch for one in changes if one.batch)
    trashed = db.session.scalars(select(Trashed)).one()
    yield "trashed", trashed.id
    yield "batch", trashed.batch
    yield "import", db.session.scalars(select(LinkImport.id)).one()


def end_rights(people: Mapping[str, User], demoted: WorkspaceMember, former: WorkspaceMember) -> None:
    begin_write(db.session)
    workspaces.change_role(demoted, VIEWER)
    workspaces.remove_member(former)
    people["disabled"].disabled_datetime = now()
