"""Gotify: what it takes, and what its answers mean."""

from __future__ import annotations

import json

import pytest

from app.net.session import OutboundSession
from app.notifications.transports import gotify
from tests.notifications.messages import MESSAGES, event
from tests.notifications.receivers import Says, WebReceiver
from tests.notifications.transports.answers import GONE, REFUSED, RETRY, Cases, check, wait


def error(status: int, words: str) -> str:
    return json.dumps({"error": "X", "errorCode": status, "errorDescription": words})


def fields(url: str) -> dict[str, str]:
    return {"gotify": url, "gotify_token": "AbC.123"}


@pytest.mark.parametrize("kind", MESSAGES)
def test_what_gotify_takes(kind: str) -> None:
    found = gotify.payload(MESSAGES[kind]())
    assert 1 <= len(found["message"].encode()) <= 16_000 and 1 <= len(found["title"]) <= 250
    assert 0 <= found["priority"] <= 10
    assert found["extras"]["client::display"] == {"contentType": "text/plain"}


def test_an_event() -> None:
    found = gotify.payload(event(type="link.destination_failing"))
    assert found["title"] == event().title and found["message"].startswith(
        "All 500 clicks are used up.\nShort"
    )
    assert found["priority"] == 8
    click = {"click": {"url": "https://go.example/dashboard/links/7"}}
    assert found["extras"]["client::notification"] == click
    assert "client::notification" not in gotify.payload(event(url=None))["extras"]


@pytest.mark.parametrize("path", ["", "/", "/push", "/push/"])
def test_the_request(path: str, web: WebReceiver, outbound: OutboundSession) -> None:
    gotify.send(fields(web.url + path), event(), outbound)
    (heard,) = web.heard
    assert (heard.method, heard.path) == ("POST", f"{path.rstrip('/')}/message")
    assert heard.headers["x-gotify-key"] == "AbC.123" and "AbC" not in heard.path
    assert heard.json == gotify.payload(event())


ANSWERS: Cases = {
    "taken": (Says(200, '{"id":25,"appid":5}'), None),
    "no such token": (Says(401, error(401, "you need to provide a valid access token")), GONE),
    "a token of a client": (Says(403, error(403, "you are not allowed to access this api")), GONE),
    "a message it does not like": (Says(400, error(400, "Field 'message' is required")), REFUSED),
    "another page": (Says(404, error(404, "page not found")), RETRY),
    "in trouble": (Says(500, error(500, "database is locked")), RETRY),
    "a proxy's 401": (Says(401, "<h1>Unauthorized</h1>"), RETRY),
    "a proxy's 403 in JSON": (Says(403, '{"errorCode":"403"}'), RETRY),
    "a proxy that is busy": (Says(429, "slow down", {"Retry-After": "9"}), wait(9)),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_means(name: str, web: WebReceiver, outbound: OutboundSession) -> None:
    check("gotify", fields(web.url), ANSWERS[name], web, outbound)
