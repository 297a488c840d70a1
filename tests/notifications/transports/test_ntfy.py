"""ntfy: what it takes, and what its answers mean."""

from __future__ import annotations

import json

import pytest

from app.net.session import OutboundSession
from app.notifications.transports import ntfy
from tests.notifications.messages import MESSAGES, NASTY, event, nasty
from tests.notifications.receivers import Says, WebReceiver
from tests.notifications.transports.answers import GONE, REFUSED, RETRY, Cases, check, wait


def error(code: int, words: str, **more: object) -> str:
    return json.dumps({"code": code, "http": code // 100, "error": words, **more})


def fields(url: str, **more: str) -> dict[str, str]:
    return {"ntfy": url, "ntfy_topic": "waypost-1", **more}


@pytest.mark.parametrize("kind", MESSAGES)
def test_what_ntfy_takes(kind: str) -> None:
    found = ntfy.payload(MESSAGES[kind](), "t" * 64)
    assert len(json.dumps(found, ensure_ascii=False).encode()) <= 8192
    assert 1 <= len(found["message"].encode()) <= 4096 and len(found["title"].encode()) <= 250
    assert len((found["title"] + found["message"]).encode()) <= 4000  # as phones get it
    assert found["topic"] == "t" * 64 and 1 <= found["priority"] <= 5 and "markdown" not in found
    assert "\n" not in found["title"]


def test_an_event() -> None:
    assert ntfy.payload(event(), "t") == {
        "topic": "t",
        "title": "go.example/launch has reached its click limit",
        "tags": ["warning"],
        "priority": 3,
        "click": "https://go.example/dashboard/links/7",
        "message": "All 500 clicks are used up.\n"
        "Short link: https://go.example/launch\n"
        "Destination: https://example.com/landing?a=1&b=2\n"
        "Clicks: 500",
    }


def test_what_matters_more() -> None:
    failing = ntfy.payload(event(type="link.destination_failing"), "t")
    assert (failing["priority"], failing["tags"]) == (4, ["rotating_light"])
    assert ntfy.payload(event(type="an.unknown_one"), "t")["tags"] == ["bell"]


def test_only_web_addresses_are_opened() -> None:
    assert "click" not in ntfy.payload(event(url="javascript:alert(1)"), "t")
    assert "click" not in ntfy.payload(event(url=None), "t")


def test_what_people_typed_is_as_typed() -> None:
    assert NASTY in ntfy.payload(nasty(), "t")["message"]  # plain text, in which nothing is markup


@pytest.mark.parametrize(
    ("more", "authorization"), [({}, None), ({"ntfy_token": "tk_x"}, "Bearer tk_x")], ids=["open", "login"]
)
def test_the_request(
    more: dict[str, str], authorization: str | None, web: WebReceiver, outbound: OutboundSession
) -> None:
    for server in (web.url, f"{web.url}/"):
        ntfy.send(fields(server, **more), event(), outbound)
    for heard in web.heard:
        assert (heard.method, heard.path, heard.headers["authorization"]) == ("POST", "/", authorization)
        assert heard.json == ntfy.payload(event(), "waypost-1")


ANSWERS: Cases = {
    "taken": (Says(200, '{"id":"x","event":"message"}'), None),
    "not signed in": (Says(401, error(40101, "unauthorized")), GONE),
    "not allowed": (Says(403, error(40301, "forbidden")), GONE),
    "a topic that it reserves": (Says(400, error(40010, "invalid request: topic name is not allowed")), GONE),
    "a message it does not like": (Says(400, error(40017, "invalid request: must be message JSON")), REFUSED),
    "too large": (Says(413, error(41303, "JSON body too large")), REFUSED),
    "too often": (Says(429, error(42901, "limit reached: too many requests")), RETRY),
    "too often today, and when": (
        Says(429, error(42908, "limit reached: daily quota"), {"Retry-After": "60"}),
        wait(60),
    ),
    "another page": (Says(404, error(40401, "page not found")), RETRY),
    "no subscriber": (Says(507, error(50701, "cannot publish to UnifiedPush topic")), RETRY),
    "a proxy's 401": (Says(401, "<h1>Unauthorized</h1>"), RETRY),
    "a proxy's 403 in JSON": (Says(403, '{"error":"forbidden"}'), RETRY),
    "a code with another status": (Says(502, error(40301, "forbidden")), RETRY),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_means(name: str, web: WebReceiver, outbound: OutboundSession) -> None:
    check("ntfy", fields(web.url), ANSWERS[name], web, outbound)
