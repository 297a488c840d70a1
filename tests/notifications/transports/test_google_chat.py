"""Google Chat: what it takes, escaping of typed text, threads, and what its answers mean."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from app.net.session import OutboundSession
from app.notifications.transports import google_chat
from tests.notifications.messages import MESSAGES, NASTY, event, nasty
from tests.notifications.receivers import Says, WebReceiver
from tests.notifications.transports.answers import GONE, REFUSED, RETRY, Cases, check, wait


def error(status: int, word: str, **more: object) -> Says:
    return Says(status, json.dumps({"error": {"code": status, "message": "No.", "status": word, **more}}))


def fields(url: str) -> dict[str, str]:
    return {"google_chat": f"{url}/v1/spaces/AAA/messages?key=k%20k&token=t"}


def widgets(payload: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for part in payload["cardsV2"][0]["card"]["sections"] for one in part["widgets"]]


def formatted(payload: dict[str, Any]) -> Iterator[str]:
    """Every text that Chat reads as simple HTML."""
    yield from (part["header"] for part in payload["cardsV2"][0]["card"]["sections"] if "header" in part)
    for one in widgets(payload):
        yield from (one[kind]["text"] for kind in ("textParagraph", "decoratedText") if kind in one)


@pytest.mark.parametrize("kind", MESSAGES)
def test_what_google_chat_takes(kind: str) -> None:
    found = google_chat.payload(MESSAGES[kind]())
    assert len(json.dumps(found, ensure_ascii=False).encode()) <= 32_000
    (card,) = found["cardsV2"]
    assert card["card"]["header"]["title"] and card["cardId"] == event().id and found["fallbackText"]
    assert 1 <= len(widgets(found)) <= 100 and all(part["widgets"] for part in card["card"]["sections"])
    assert all(len(one) == 1 for one in widgets(found)) and all(formatted(found))


def test_an_event() -> None:
    found = google_chat.payload(event())
    assert found["cardsV2"][0]["card"]["sections"] == [
        {
            "widgets": [
                {"textParagraph": {"text": "All 500 clicks are used up."}},
                google_chat.decorated("Short link", "https://go.example/launch"),
                google_chat.decorated("Destination", "https://example.com/landing?a=1&amp;b=2"),
                google_chat.decorated("Clicks", "500"),
                google_chat.button("See it in Waypost", "https://go.example/dashboard/links/7"),
            ]
        }
    ]
    assert "text" not in found  # cards alone, whose notification is the fallback


THREADS = {
    "a link": ({}, "waypost-link-7"),
    "another event of it": ({"type": "link.ended"}, "waypost-link-7"),
    "a report": ({"type": "link.report", "data": {"period": "weekly", "reports": []}}, "waypost-link.report"),
    "a test": ({"type": "handler.test", "data": {"handler": {"id": 7}}}, "waypost-handler.test"),
    "no object": ({"type": "x", "data": {"link": "x"}}, "waypost-x"),
}


@pytest.mark.parametrize("name", THREADS)
def test_threads(name: str) -> None:
    changes, key = THREADS[name]
    assert google_chat.payload(event(**changes))["thread"] == {"threadKey": key}


def test_what_people_typed_is_nothing_but_text() -> None:
    found = google_chat.payload(nasty())
    for text in formatted(found):
        assert not re.search(r"[<>]|&(?!(?:amp|lt|gt);)", text)
    assert html.unescape(widgets(found)[0]["textParagraph"]["text"]) == NASTY


ADDRESSES = {
    "as it is copied": ("/v1/spaces/AAA/messages?key=k%20k&token=t", {"key": "k k", "token": "t"}),
    "without a query": ("/hook", {}),
    "with a fragment": ("/hook?key=1#x", {"key": "1"}),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_the_request(name: str, web: WebReceiver, outbound: OutboundSession) -> None:
    address, own = ADDRESSES[name]
    for _ in range(2):
        google_chat.send({"google_chat": web.url + address}, event(), outbound)
    for heard in web.heard:
        parts = urlsplit(heard.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query, strict_parsing=True).items()}
        more = {"messageReplyOption": "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD", "requestId": event().id}
        assert (heard.method, parts.path, asked) == ("POST", urlsplit(address).path, {**own, **more})
        assert heard.json == google_chat.payload(event())


ANSWERS: Cases = {
    "taken": (Says(200, '{"name":"spaces/AAA/messages/BBB"}'), None),
    "no such space": (error(404, "NOT_FOUND"), GONE),
    "not its token": (error(401, "UNAUTHENTICATED"), GONE),
    "switched off": (error(403, "PERMISSION_DENIED"), GONE),
    "not its key": (
        error(400, "INVALID_ARGUMENT", details=[{"reason": "API_KEY_INVALID"}]),
        GONE,
    ),
    "a message it does not like": (error(400, "INVALID_ARGUMENT"), REFUSED),
    "too often": (error(429, "RESOURCE_EXHAUSTED"), RETRY),
    "too often, and when": (Says(429, "{}", {"Retry-After": "5"}), wait(5)),
    "in trouble": (error(503, "UNAVAILABLE"), RETRY),
    "its words with 500": (error(500, "NOT_FOUND"), RETRY),
    "a proxy's 404": (Says(404, "<h1>Not found</h1>"), RETRY),
    "an error that is no object": (Says(404, '{"error":"NOT_FOUND"}'), RETRY),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_means(name: str, web: WebReceiver, outbound: OutboundSession) -> None:
    check("google_chat", fields(web.url), ANSWERS[name], web, outbound)
