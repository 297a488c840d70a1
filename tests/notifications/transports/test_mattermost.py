"""Mattermost: what it takes, escaping of typed text, and what its answers mean."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from app.net.session import OutboundSession
from app.notifications.transports import mattermost
from tests.notifications.messages import MESSAGES, NASTY, event, nasty
from tests.notifications.receivers import Says, WebReceiver
from tests.notifications.transports.answers import GONE, REFUSED, RETRY, Cases, check, wait


def error(code: str, status: int, words: str = "No") -> Says:
    return Says(status, json.dumps({"id": code, "message": words, "status_code": status}))


def fields(url: str) -> dict[str, str]:
    return {"mattermost": f"{url}/hooks/abc"}


def texts(payload: dict[str, Any]) -> list[str]:
    """Every text of the attachments that is Markdown."""
    found = []
    for one in payload["attachments"]:
        found += [
            one["title"],
            one.get("text", ""),
            *(f[part] for f in one["fields"] for part in ("title", "value")),
        ]
    return found


@pytest.mark.parametrize("kind", MESSAGES)
def test_what_mattermost_takes(kind: str) -> None:
    found = mattermost.payload(MESSAGES[kind]())
    assert len(json.dumps(found["attachments"], ensure_ascii=False)) <= 8000
    assert found["attachments"] and "text" not in found and "channel" not in found
    for one in found["attachments"]:
        assert one["fallback"] and one["title"] and re.fullmatch("#[0-9a-f]{6}", one["color"])
        assert all(field["title"] and field["value"] for field in one["fields"])


def test_an_event() -> None:
    (found,) = mattermost.payload(event())["attachments"]
    assert found["title"] == found["fallback"] == "go.example/launch has reached its click limit"
    assert found["title_link"] == "https://go.example/dashboard/links/7" and found["color"] == "#d97706"
    assert found["text"] == "All 500 clicks are used up."
    assert found["fields"] == [
        {"title": "Short link", "value": "` https://go.example/launch `", "short": True},
        {"title": "Destination", "value": "` https://example.com/landing?a=1&b=2 `", "short": True},
        {"title": "Clicks", "value": "500", "short": True},
    ]
    assert "title_link" not in mattermost.payload(event(url="javascript:alert(1)"))["attachments"][0]


def test_it_calls_nobody() -> None:
    payload = mattermost.payload(nasty())
    for text in [*texts(payload), *(one["fallback"] for one in payload["attachments"])]:
        if not text.startswith("`"):
            assert not re.search(r"[@~#:&<](?=\w|!)", text)
    for text in texts(payload):
        if not text.startswith("`"):
            assert not re.search(r"(?<!\\)(?:\\\\)*[*_~`|>\[\](){}#]", text)
    shown = re.sub(r"\\(.)", r"\1", payload["attachments"][0]["text"].replace("\u2060", ""))
    assert shown == NASTY


CODES = {
    "an address": ("https://x.example/?a=1", "` https://x.example/?a=1 `"),
    "with its marks": ("https://x.example/`a``b", "``` https://x.example/`a``b ```"),
    "that mentions in Slack's way": (
        "https://x.example/<!channel>",
        "` https://x.example/<\u2060!channel> `",
    ),
}


@pytest.mark.parametrize("name", CODES)
def test_addresses_are_code(name: str) -> None:
    typed, shown = CODES[name]
    assert mattermost.value_of(typed) == shown


def test_the_request(web: WebReceiver, outbound: OutboundSession) -> None:
    mattermost.send(fields(web.url), event(), outbound)
    (heard,) = web.heard
    assert (heard.method, heard.path) == ("POST", "/hooks/abc") and heard.json == mattermost.payload(event())


ANSWERS: Cases = {
    "taken": (Says(200, "ok"), None),
    "no such webhook": (error("web.incoming_webhook.invalid.app_error", 400, "Invalid webhook."), GONE),
    "channel deleted": (error("app.channel.get.existing.app_error", 404), GONE),
    "channel archived": (error("api.post.create_post.can_not_post_to_deleted.error", 400), GONE),
    "locked to another channel": (error("web.incoming_webhook.channel_locked.app_error", 403), GONE),
    "its maker left": (error("web.incoming_webhook.permissions.app_error", 403), GONE),
    "webhooks are switched off": (error("web.incoming_webhook.disabled.app_error", 501), GONE),
    "a payload it does not like": (error("web.incoming_webhook.parse.app_error", 400), REFUSED),
    "too long": (error("model.post.is_valid.props.app_error", 400), REFUSED),
    "its database": (error("app.channel.get.find.app_error", 500), RETRY),
    "its words with 500": (error("web.incoming_webhook.channel.app_error", 500), RETRY),
    "another error": (error("api.context.invalid_url_param.app_error", 400), RETRY),
    "too often": (Says(429, "limit exceeded", {"Retry-After": "1"}), wait(1)),
    "a proxy's 404": (Says(404, "<h1>Not found</h1>"), RETRY),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_means(name: str, web: WebReceiver, outbound: OutboundSession) -> None:
    check("mattermost", fields(web.url), ANSWERS[name], web, outbound)
