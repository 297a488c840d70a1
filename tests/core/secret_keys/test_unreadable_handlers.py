"""Handlers whose settings no key at hand can decrypt: shown as unknown, kept as they are, entered anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from app.accounts.models import User
from app.core.secret_keys.check import adopt_key, raw_text
from app.core.secret_keys.ring import current_keys
from app.jobs.mails import post_confirmations
from app.notifications.delivery import UNREADABLE
from app.notifications.models import NotificationHandler, SystemEmail
from tests.clients import Api
from tests.dashboard.conftest import Desk, desk
from tests.keys import secret_keys

__all__ = ["desk"]

LOST = "a key that is lost, long enough"
ADDRESS = "https://hooks.example/1"


@pytest.fixture
def handler(session: Any, alice: User, make_handler: Any) -> NotificationHandler:
    with secret_keys(LOST):
        settings = {"webhook": ADDRESS, "secret": "whsec_of_before"}
        found: NotificationHandler = make_handler(alice, "webhook", settings=settings)
        session.commit()
    session.expire_all()
    return found


def stored(session: Any) -> str:
    session.rollback()
    column = NotificationHandler.__table__.c.settings
    return str(session.scalars(sa.select(raw_text(column))).one())


def test_the_api_shows_null_and_goes_on(
    api: Api, make_api: Any, alice: User, session: Any, handler: NotificationHandler
) -> None:
    before = stored(session)
    path = f"/notification-handlers/{handler.id}"
    found = api.get(path).json["data"]
    assert found["settings"] == {"webhook": None, "webhook_template": None, "secret": None}
    assert api.get("/notification-handlers").json["data"] == [found]
    assert make_api(alice, scope="read").get(path).json["data"] == found
    assert api.post(path, {"name": "renamed", "is_enabled": "0"}).status_code == 200
    assert stored(session) == before
    tried = api.post(f"{path}/test").json["data"]
    assert (tried["status"], tried["detail"]) == ("failed", UNREADABLE)


def test_the_api_takes_them_anew(api: Api, handler: NotificationHandler) -> None:
    path = f"/notification-handlers/{handler.id}"
    assert api.post(path, {"webhook": "https://hooks.example/2"}).status_code == 200
    settings = api.get(path).json["data"]["settings"]
    assert settings["webhook"] == "https://hooks.example/2"
    assert settings["secret"].startswith("whsec_") and settings["secret"] != "whsec_of_before"


def test_the_dashboard_shows_it_and_takes_them_anew(
    desk: Desk, session: Any, handler: NotificationHandler
) -> None:
    assert handler.name in desk.get("/handlers/").text
    page = desk.get(f"/handlers/{handler.id}")
    assert page.status_code == 200
    assert "Enter it again" in page.text
    before = stored(session)
    renamed = desk.post(f"/handlers/{handler.id}", {"type": "webhook", "name": "x", "webhook": ""})
    assert renamed.status_code == 303
    assert desk.post(f"/handlers/{handler.id}/secret", {}).status_code == 422
    assert stored(session) == before
    sent = {"type": "webhook", "name": "x", "is_enabled": "1", "webhook": ADDRESS}
    assert desk.post(f"/handlers/{handler.id}", sent).status_code == 303
    session.expire_all()
    assert handler.settings["webhook"] == ADDRESS
    assert "Enter it again" not in desk.get(f"/handlers/{handler.id}").text


def test_the_dashboard_deletes_it(desk: Desk, session: Any, handler: NotificationHandler) -> None:
    assert desk.post(f"/handlers/{handler.id}/delete", {}).status_code == 303
    assert session.scalars(sa.select(NotificationHandler)).all() == []


def test_an_unconfirmed_address_stays_unconfirmed(
    api: Api, app: Any, session: Any, alice: User, make_handler: Any
) -> None:
    """An unreadable address is not taken for the owner's own, and gets no confirmation mail."""
    with secret_keys(LOST):
        made = make_handler(alice, settings={"email": "stranger@elsewhere.example"}, is_confirmed=False)
        session.commit()
    session.expire_all()
    for is_enabled in "01":
        path = f"/notification-handlers/{made.id}"
        assert api.post(path, {"is_enabled": is_enabled}).status_code == 200
    session.expire_all()
    assert not made.is_confirmed
    made.confirmation_due = made.datetime
    session.commit()
    settings = replace(app.config["WAYPOST"], smtp_url="smtp://127.0.0.1:9")
    post_confirmations(session, settings, app.extensions["rate_limiter"])
    session.expire_all()
    assert made.confirmation_due > made.datetime
    assert session.scalars(sa.select(SystemEmail)).all() == []
    with secret_keys(LOST, current_keys().current()):
        session.expire_all()
        assert made.settings == {"email": "stranger@elsewhere.example"}


def test_a_wrong_key_is_not_ready(client: Any, session: Any) -> None:
    """The file of the key is replaced while the server runs."""
    adopt_key(session, current_keys().current())
    assert client.get("/readyz").json["checks"]["secret_key"] == {"ok": True, "rotating": False}
    with secret_keys("another key", current_keys().current()):
        assert client.get("/readyz").json["checks"]["secret_key"] == {"ok": True, "rotating": True}
    with secret_keys("another key"):
        answer = client.get("/readyz")
        assert answer.status_code == 503
        found = answer.json["checks"]["secret_key"]
    assert not found["ok"]
    assert "not the secret key" in found["detail"]
