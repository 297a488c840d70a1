"""Subscriptions by the API: REST hooks as n8n, Make and Zapier make and end them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session, scoped_session
from standardwebhooks import Webhook

from app.accounts.models import User
from app.core.config import Settings
from app.events.subscriptions.forms import SUBSCRIBED
from app.notifications.models import Delivery, EventCursor, NotificationHandler
from app.notifications.sender import Sender
from app.trash.models import Trashed
from tests.api.shape import problem
from tests.clients import Api
from tests.events.conftest import Feed
from tests.events.push.conftest import Push
from tests.notifications.receivers import Says, WebReceiver
from tests.notifications.sending import send_all

pytestmark = pytest.mark.settings(BASE_URL="https://go.example")

TARGET = "https://n8n.example/webhook/1"
HOOK: Mapping[str, Any] = {"target_url": TARGET, "events": ["link.clicked"]}
WHOLE = {"Prefer": "return=representation"}


def subscribe(api: Api, **fields: Any) -> dict[str, Any]:
    answer = api.post("/subscriptions", json={**HOOK, **fields}, headers=WHOLE)
    assert answer.status_code == 201, answer.json
    data: dict[str, Any] = answer.json["data"]
    return data


@pytest.mark.databases
def test_subscribe_check_and_unsubscribe(api: Api, session: scoped_session[Session]) -> None:
    answer = api.post("/subscriptions", json=HOOK)
    id_ = answer.json["data"]["id"]
    assert (answer.status_code, answer.json) == (201, {"data": {"id": id_}})
    assert answer.headers["Location"] == f"https://go.example/api/subscriptions/{id_}"
    found = api.get(f"/subscriptions/{id_}").json["data"]
    assert found.pop("secret").startswith("whsec_") and found.pop("datetime")
    assert found == {
        "id": id_,
        "name": "n8n.example",
        "target_url": TARGET,
        "events": ["link.clicked"],
        "scope": "workspace",
        "click_filter": {"countries": None, "is_bot": False, "every": 1, "first": False},
        "link_id": None,
        "is_enabled": True,
    }
    assert [one["id"] for one in api.get("/subscriptions").json["data"]] == [id_]
    assert api.delete(f"/subscriptions/{id_}").status_code == 204
    assert problem(api.get(f"/subscriptions/{id_}"), 404)
    assert problem(api.delete(f"/subscriptions/{id_}"), 404)
    session.rollback()
    for table in (NotificationHandler, EventCursor, Trashed):
        assert session.scalar(select(func.count()).select_from(table)) == 0


BAD: Mapping[str, tuple[Mapping[str, Any], list[tuple[str, str]]]] = {
    "nothing": ({"target_url": None, "events": None}, [("target_url", "required"), ("events", "required")]),
    "an unknown event": ({"events": ["link.exploded"]}, [("events", "choice")]),
    "a report": ({"events": ["link.report"]}, [("events", "choice")]),
    "a private address": ({"target_url": "http://10.0.0.1/"}, [("target_url", "private_address")]),
    "another's link": ({"link_id": 4711}, [("link_id", "not_found")]),
    "one link and all": ({"link_id": "own", "scope": "workspace"}, [("scope", "conflict")]),
    "all at once": (
        {
            "target_url": "x",
            "events": ["x"],
            "scope": "x",
            "click_filter": {"countries": ["XX"], "every": 0, "first": "x"},
        },
        [
            ("target_url", "scheme"),
            ("events", "choice"),
            ("scope", "choice"),
            ("click_filter.countries", "choice"),
            ("click_filter.every", "range"),
            ("click_filter.first", "boolean"),
        ],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused(name: str, api: Api, alice: User, make_link: Callable[..., Any]) -> None:
    fields, expected = BAD[name]
    fields = {**fields, "link_id": make_link(alice).id} if fields.get("link_id") == "own" else fields
    errors = problem(api.post("/subscriptions", json={**HOOK, **fields}), 422)
    assert [(error["field"], error["code"]) for error in errors] == expected


@pytest.mark.databases
@pytest.mark.settings(MAX_HANDLERS="2")
def test_there_is_a_bound(api: Api) -> None:
    subscribe(api)
    subscribe(api)
    [error] = problem(api.post("/subscriptions", json=HOOK), 422)
    assert (error.get("field"), error["code"]) == (None, "too_many")


def test_a_read_only_key_sees_no_secrets(api: Api, make_api: Callable[..., Api], alice: User) -> None:
    id_ = subscribe(api)["id"]
    reader = make_api(alice, "read")
    found = reader.get(f"/subscriptions/{id_}").json["data"]
    assert (found["target_url"], found["secret"]) == ("********", "********")
    assert problem(reader.post("/subscriptions", json=HOOK), 403)
    assert problem(reader.delete(f"/subscriptions/{id_}"), 403)


@pytest.mark.databases
def test_samples(api: Api, feed: Feed, make: Callable[..., Any]) -> None:
    [made_up] = api.get("/subscriptions/samples?event=link.clicked").json["data"]
    assert (made_up["type"], made_up["is_sample"]) == ("link.clicked", True)
    link = make("spring")
    feed.visit(link.id, 2)
    feed.sequence()
    real = api.get("/subscriptions/samples?event=link.clicked").json["data"]
    assert [(list(one), one["is_sample"]) for one in real] == [(list(made_up), False)] * 2
    assert list(real[0]["data"]["clicks"][0]) == list(made_up["data"]["clicks"][0])
    [created] = api.get("/subscriptions/samples?event=link.created").json["data"]
    assert created["data"]["link"]["url"] == "spring" and created["data"]["event_id"]
    assert [error["field"] for error in problem(api.get("/subscriptions/samples?event=x"), 422)] == ["event"]
    assert [error["field"] for error in problem(api.get("/subscriptions/samples"), 422)] == ["event"]


def test_each_type_has_a_made_up_sample(api: Api) -> None:
    for type_ in SUBSCRIBED:
        [found] = api.get(f"/subscriptions/samples?event={type_}").json["data"]
        assert found["type"] == type_ and found["is_sample"]


@pytest.mark.databases
@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
def test_a_target_gets_signed_clicks_and_ends_by_410(
    api: Api,
    feed: Feed,
    make: Callable[..., Any],
    push: Push,
    web: WebReceiver,
    settings: Settings,
    session: scoped_session[Session],
) -> None:
    found, link = subscribe(api, target_url=f"{web.url}/hook"), make("spring")
    feed.visit(link.id, 3, country_code="DE")
    push()
    sender = Sender(push.engine, settings)
    send_all(sender)
    [heard] = web.heard
    said = Webhook(found["secret"]).verify(heard.body, dict(heard.headers))
    assert (heard.path, said["type"], len(said["data"]["clicks"])) == ("/hook", "link.clicked", 3)
    assert set(said) == {"type", "timestamp", "data"}
    web.answers.append(Says(410))
    feed.visit(link.id)
    push()
    send_all(sender)
    session.rollback()
    assert session.scalar(select(func.count()).select_from(NotificationHandler)) == 0
    assert session.scalar(select(func.count()).select_from(Delivery)) == 0
    assert problem(api.get(f"/subscriptions/{found['id']}"), 404)


def test_subscriptions_are_handlers_too(api: Api) -> None:
    """With a log, and in their list; a handler's form changes neither their type nor their address."""
    id_ = subscribe(api)["id"]
    shown = api.get(f"/notification-handlers/{id_}").json["data"]
    assert (shown["type"], shown["settings"]["target_url"]) == ("subscription", TARGET)
    assert api.get(f"/notification-handlers/{id_}/deliveries").json["data"] == []
    assert api.post(f"/notification-handlers/{id_}", {"target_url": "https://x.example/"}).status_code == 200
    assert api.get(f"/subscriptions/{id_}").json["data"]["target_url"] == TARGET
    errors = problem(
        api.post(f"/notification-handlers/{id_}", {"type": "email", "email": "a@b.example"}), 422
    )
    assert [error["field"] for error in errors] == ["type"]
    assert problem(
        api.post("/notification-handlers", {"type": "subscription", "name": "n", "target_url": TARGET}), 422
    )
