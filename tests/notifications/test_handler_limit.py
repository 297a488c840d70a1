"""The highest number of handlers of a workspace, wherever one is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.notifications.models import NotificationHandler
from tests.api.shape import problem, race
from tests.clients import Api

pytestmark = [pytest.mark.databases, pytest.mark.settings(MAX_HANDLERS="2")]
CHAT = {"type": "webhook", "name": "Chat", "webhook": "https://hooks.example/a"}
SAID = "A workspace may have at most 2 handlers."


def count(session: Any, user: User) -> int:
    session.rollback()
    mine = NotificationHandler.user_id == user.id
    return session.scalar(select(func.count()).where(mine)) or 0


def test_one_more_is_refused_and_another_workspace_has_its_own(
    api: Api, make_api: Callable[..., Api], session: Session, alice: User, bob: User
) -> None:
    ids = [api.post("/notification-handlers", CHAT).json["data"]["id"] for _ in range(2)]
    [error] = problem(api.post("/notification-handlers", CHAT), 422)
    assert (error["code"], error["title"]) == ("too_many", SAID)
    assert count(session, alice) == 2
    assert make_api(bob).post("/notification-handlers", CHAT).status_code == 201
    api.delete(f"/notification-handlers/{ids[0]}")
    assert api.post("/notification-handlers", CHAT).status_code == 201
    [kept] = api.get("/trash").json["data"]
    [error] = problem(api.post(f"/trash/{kept['id']}/restore"), 422)
    assert (error["code"], error["title"]) == ("too_many", SAID)
    assert count(session, alice) == 2


def test_the_last_one_at_the_same_moment(
    app: Flask, api: Api, session: scoped_session[Session], alice: User
) -> None:
    answers = race(app, api, 8, CHAT, path="/notification-handlers")
    assert sorted(answer.status_code for answer in answers) == [201] * 2 + [422] * 6
    assert count(session, alice) == 2
