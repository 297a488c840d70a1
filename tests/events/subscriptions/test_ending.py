"""Subscriptions end with the right of the key that made them: nothing waiting is delivered, nor anything later."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import func, select
from sqlalchemy.orm import Session, scoped_session

from app.accounts import keys, workspaces
from app.accounts.access import EDITOR, VIEWER, Access
from app.accounts.deletion import leaving
from app.accounts.models import ApiKey, User, WorkspaceMember
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.extensions import db
from app.events.subscriptions import ending
from app.notifications.models import Delivery, NotificationHandler
from app.notifications.sender import Sender
from tests.clients import Api
from tests.events.conftest import Feed
from tests.events.push.conftest import Push
from tests.notifications.receivers import WebReceiver
from tests.notifications.sending import send_all

pytestmark = pytest.mark.settings(BASE_URL="https://go.example", ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")


@pytest.fixture
def member(alice: User, bob: User) -> WorkspaceMember:
    """Bob, an editor in alice's workspace."""
    begin_write(db.session)
    alices = workspaces.memberships(alice)[0].workspace
    found = workspaces.add_member(alices, bob, EDITOR)
    db.session.commit()
    return found


@pytest.fixture
def key(member: WorkspaceMember, client: FlaskClient, web: WebReceiver) -> ApiKey:
    """Bob's key to alice's workspace, which has subscribed the receiver."""
    begin_write(db.session)
    row, text = keys.create_key(Access(member.user, member.workspace_id, EDITOR), "bob's")
    db.session.commit()
    sent = {"target_url": f"{web.url}/hook", "events": ["link.clicked"]}
    assert Api(client, text).post("/subscriptions", json=sent).status_code == 201
    return db.session.get_one(ApiKey, row.id)


def expire(key: ApiKey, member: WorkspaceMember) -> None:
    key.expires_datetime = now() - dt.timedelta(seconds=1)


# each as it may come to pass in another process, before anything is tidied up
ENDS: dict[str, Callable[[ApiKey, WorkspaceMember], Any]] = {
    "revoked": lambda key, member: keys.revoke_key(key),
    "expired": expire,
    "removed": lambda key, member: workspaces.remove_member(member),
    "demoted": lambda key, member: workspaces.change_role(member, VIEWER),
    "deleted": lambda key, member: leaving.leave(member.user),
    "its row deleted": lambda key, member: db.session.delete(key),
}


@pytest.mark.parametrize("way", ENDS)
def test_nothing_is_delivered_after_the_end(
    way: str,
    key: ApiKey,
    member: WorkspaceMember,
    make: Callable[..., Any],
    feed: Feed,
    push: Push,
    web: WebReceiver,
    settings: Settings,
    session: scoped_session[Session],
) -> None:
    link = make("spring")
    sender = Sender(push.engine, settings)
    feed.visit(link.id)
    push()
    send_all(sender)
    assert len(web.heard) == 1, "it works as long as its key does"
    feed.visit(link.id)
    push()  # this delivery waits
    begin_write(db.session)
    ENDS[way](key, member)
    db.session.commit()
    feed.visit(link.id)
    push()
    send_all(sender)
    assert len(web.heard) == 1
    ending.sweep(db.session)
    db.session.commit()
    assert count(session, NotificationHandler) == count(session, Delivery) == 0


@pytest.mark.databases
def test_it_waits_while_the_account_is_disabled(
    key: ApiKey,
    bob: User,
    make: Callable[..., Any],
    feed: Feed,
    push: Push,
    web: WebReceiver,
    settings: Settings,
    session: scoped_session[Session],
) -> None:
    link = make("spring")
    bob.disabled_datetime = now()
    feed.visit(link.id)
    push()
    send_all(Sender(push.engine, settings))
    ending.sweep(db.session)
    db.session.commit()
    assert (web.heard, count(session, NotificationHandler)) == ([], 1)
    bob.disabled_datetime = None
    push()
    send_all(Sender(push.engine, settings))
    assert len(web.heard) == 1
    assert key.revoked_datetime is None


def count(session: scoped_session[Session], table: type[Any]) -> int:
    session.rollback()
    return session.scalar(select(func.count()).select_from(table)) or 0


def through_the_api(key: ApiKey, member: WorkspaceMember, api: Api) -> None:
    assert api.delete(f"/workspace/members/{member.id}").status_code == 204


def through_a_role(key: ApiKey, member: WorkspaceMember, api: Api) -> None:
    assert api.post(f"/workspace/members/{member.id}", json={"role": VIEWER}).status_code == 200


@pytest.mark.databases
@pytest.mark.parametrize("end", [through_the_api, through_a_role])
def test_it_is_gone_with_the_answer(
    end: Callable[[ApiKey, WorkspaceMember, Api], None],
    key: ApiKey,
    member: WorkspaceMember,
    alice: User,
    make_api: Callable[..., Api],
) -> None:
    api = make_api(alice, changes_members=True)
    assert len(api.get("/subscriptions").json["data"]) == 1
    end(key, member, api)
    assert api.get("/subscriptions").json["data"] == []
