"""The four chat transports: limits, escaping of typed text, and the meaning of answers."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.net.session import OutboundSession
from app.notifications.formatting import bars, fitted, units
from app.notifications.json_post import read_object
from app.notifications.message import Message
from app.notifications.transports import chat_a, chat_b, chat_c, chat_d
from tests.notifications.messages import MESSAGES, NASTY, event, nasty
from tests.notifications.receivers import Says, WebReceiver
from tests.notifications.transports.answers import GONE, RETRY, check, wait

PAYLOADS: dict[str, Callable[[Message], dict[str, Any]]] = {
    "chat_a": chat_a.payload,
    "chat_b": chat_b.payload,
    "chat_c": lambda message: chat_c.payload(message, "-100123"),
    "chat_d": chat_d.payload,
}


def texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a payload, with its key."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, name)
    elif isinstance(value, str):
        yield name, value


# --- limits


def check_slack(payload: dict[str, Any]) -> None:
    assert len(payload["blocks"]) <= 50 and len(json.dumps(payload["blocks"], ensure_ascii=False)) <= 13_000
    for block in payload["blocks"]:
        if block["type"] == "header":
            assert 1 <= units(block["text"]["text"]) <= 150 and block["text"]["type"] == "plain_text"
        if block["type"] == "section":
            assert units(block.get("text", {}).get("text", "x")) <= 3000
            assert 1 <= len(block.get("fields", [1])) <= 10
            assert all(1 <= units(field["text"]) <= 2000 for field in block.get("fields", []))


def check_discord(payload: dict[str, Any]) -> None:
    embeds = payload["embeds"]
    assert payload["allowed_mentions"] == {"parse": []}
    assert 1 <= len(embeds) <= 10
    total = 0
    for embed in embeds:
        fields = embed["fields"]
        assert (
            1 <= units(embed["title"]) <= 256
            and units(embed.get("description", "")) <= 4096
            and len(fields) <= 25
        )
        assert all(1 <= units(one["name"]) <= 256 and 1 <= units(one["value"]) <= 1024 for one in fields)
        parts = [embed["title"], embed.get("description", ""), embed.get("footer", {}).get("text", "")]
        total += sum(map(units, parts + [one[part] for one in fields for part in ("name", "value")]))
    assert total <= 6000


def check_telegram(payload: dict[str, Any]) -> None:
    assert payload["parse_mode"] == "HTML" and payload["link_preview_options"] == {"is_disabled": True}
    bare = re.sub(r"</?(?:b|i|code|a)(?: href=\"[^\"<>]*\")?>", "", payload["text"])
    assert "<" not in bare and ">" not in bare  # nothing but these four stands there as a tag
    assert not re.search(r"&(?!(?:amp|lt|gt|quot|#x27);)", bare)
    assert 1 <= units(html.unescape(bare)) <= 4096
    opened = re.findall(r"<(/?)(\w+)", payload["text"])
    stack: list[str] = []
    for slash, name in opened:
        assert not slash or stack.pop() == name
        stack += [] if slash else [name]
    assert not stack


def check_teams(payload: dict[str, Any]) -> None:
    assert len(json.dumps(payload)) <= 28_000
    card = payload["attachments"][0]["content"]
    assert payload["type"] == "message" and card["type"] == "AdaptiveCard"
    assert '"TextBlock"' not in json.dumps(payload) and "FactSet" not in json.dumps(
        payload
    )  # both read Markdown
    assert all(value for name, value in texts(card["body"]) if name == "text")


CHECKS = {"chat_a": check_slack, "chat_b": check_discord, "chat_c": check_telegram, "chat_d": check_teams}


@pytest.mark.parametrize("kind", MESSAGES)
@pytest.mark.parametrize("type_", PAYLOADS)
def test_what_the_service_takes(type_: str, kind: str) -> None:
    CHECKS[type_](PAYLOADS[type_](MESSAGES[kind]()))


# --- what people typed


def test_slack_calls_nobody() -> None:
    payload = chat_a.payload(nasty())
    for name, text in texts(payload):
        if name == "text" and text != "<https://go.example/dashboard/links/7|See it in Waypost>":
            assert not re.search(r"<|>|&(?!(?:amp|lt|gt);)", text)
    typed = [block for block in json.dumps(payload["blocks"]).split('"type": ') if "channel" in block]
    assert typed and all(block.startswith('"plain_text"') or "*&lt;!channel" in block for block in typed)
    assert payload["blocks"][0]["text"]["text"].startswith("&lt;!channel&gt; &lt;!here&gt;")


def test_discord_calls_nobody() -> None:
    payload = chat_b.payload(nasty())
    for name, text in texts(payload):
        if name in {"title", "description", "name", "value"}:
            assert not re.search(r"(?<!\\)(?:\\\\)*[*_~`|<>@#\[\]()]", text)
    unescaped = re.sub(r"\\(.)", r"\1", payload["embeds"][0]["description"])
    assert unescaped == NASTY


def test_telegram_calls_nobody() -> None:
    text = chat_c.payload(nasty(), "1")["text"]
    assert "<script>" not in text and "&lt;script&gt;" in text
    # Telegram parses nothing within <code>; everywhere else no sign of a mention has its name right behind it
    bare = html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"<code>.*?</code>", "", text)))
    assert not re.search(r"[@#/$](?=\w)", bare)
    assert "@\u2060everyone" in bare and "/\u2060start" in bare


def test_teams_calls_nobody() -> None:
    payload = chat_d.payload(nasty())
    card = payload["attachments"][0]["content"]
    assert "entities" not in card["msteams"]  # without which <at> mentions no one
    said = [text for name, text in texts(card["body"]) if name == "text"]
    assert not [text for text in said if "{{" in text]
    assert any(
        "[click](https://evil.example)" in text for text in said
    )  # as typed, in a block without Markdown


# --- answers


ANSWERS = {
    "chat_a": {
        "taken": (Says(200, "ok"), None),
        "no such webhook": (Says(404, "no_service"), GONE),
        "channel deleted": (Says(404, "channel_not_found"), GONE),
        "channel archived": (Says(410, "channel_is_archived"), GONE),
        "forbidden by an administrator": (Says(403, "action_prohibited"), GONE),
        "a token that is none": (Says(403, "invalid_token"), GONE),
        "a proxy's 404": (Says(404, "<h1>Not found</h1>"), RETRY),
        "a payload it does not like": (Says(400, "invalid_payload"), RETRY),
        "too often": (Says(429, "rate_limited", {"Retry-After": "30"}), wait(30)),
        "in trouble": (Says(500, "rollup_error"), RETRY),
        "its words with 500": (Says(500, "no_service"), RETRY),
    },
    "chat_b": {
        "taken": (Says(204), None),
        "unknown webhook": (Says(404, '{"message": "Unknown Webhook", "code": 10015}'), GONE),
        "not its token": (Says(401, '{"message": "Invalid Webhook Token", "code": 50027}'), GONE),
        "a proxy's 404": (Says(404, "nope"), RETRY),
        "a body it does not like": (Says(400, '{"code": 50035}'), RETRY),
        "too often": (Says(429, '{"retry_after": 1.5, "global": false}', {"Retry-After": "2"}), wait(1.5)),
        "too often, says a proxy": (Says(429, "slow down", {"Retry-After": "7"}), wait(7)),
        "in trouble": (Says(502, "bad gateway"), RETRY),
        "not an object": (Says(404, "[10015]"), RETRY),
    },
    "chat_c": {
        "taken": (Says(200, '{"ok":true,"result":{}}'), None),
        "blocked": (Says(403, '{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}'), GONE),
        "no such token": (Says(401, '{"ok":false,"error_code":401,"description":"Unauthorized"}'), GONE),
        "no token at all": (Says(404, '{"ok":false,"error_code":404,"description":"Not Found"}'), GONE),
        "no such chat": (Says(400, '{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}'), GONE),
        "no rights": (Says(400, '{"ok":false,"description":"Bad Request: not enough rights to send text messages to the chat"}'), GONE),
        "markup": (Says(400, '{"ok":false,"description":"Bad Request: can\'t parse entities"}'), RETRY),
        "too often": (Says(429, '{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":21}}'), wait(21)),
        "a proxy's 403": (Says(403, "<h1>Forbidden</h1>"), RETRY),
        "in trouble": (Says(502, "bad gateway"), RETRY),
    },
    "chat_d": {
        "taken": (Says(202), None),
        "no such flow": (Says(404, '{"error":{"code":"WorkflowNotFound","message":"…"}}'), GONE),
        "not its key": (Says(401, '{"error":{"code":"DirectApiAuthorizationRequired"}}'), GONE),
        "half an address": (Says(400, '{"error":{"code":"MissingApiVersionParameter"}}'), GONE),
        "switched off": (Says(400, '{"error":{"code":"WorkflowTriggerIsNotEnabled"}}'), RETRY),
        "too often": (Says(429, '{"error":{"code":"TooManyRequests"}}', {"Retry-After": "10"}), wait(10)),
        "an old connector in trouble": (Says(200, "Webhook message delivery failed with error: HTTP error 429"), RETRY),
        "error is no object": (Says(404, '{"error":"WorkflowNotFound"}'), RETRY),
        "in trouble": (Says(503), RETRY),
    },
}  # fmt: skip
CASES = [(type_, name) for type_, cases in ANSWERS.items() for name in cases]


def fields_of(type_: str, url: str) -> dict[str, str]:
    if type_ == "chat_c":
        return {"chat_c": "123:AB/..?C", "chat_c_chat_id": "-100123"}
    return {type_: f"{url}/hook/{type_}?sig=a%20b"}


@pytest.fixture(autouse=True)
def telegram_is_here(web_receiver: WebReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_c, "API", web_receiver.url)


@pytest.mark.parametrize(("type_", "name"), CASES)
def test_what_an_answer_means(type_: str, name: str, web: WebReceiver, outbound: OutboundSession) -> None:
    check(type_, fields_of(type_, web.url), ANSWERS[type_][name], web, outbound)
    path = "/bot123:AB%2F..%3FC/sendMessage" if type_ == "chat_c" else f"/hook/{type_}?sig=a%20b"
    assert [heard.path for heard in web.heard] == [path]
    assert web.heard[0].headers["content-type"] == "application/json; charset=utf-8"
    expected_payload = chat_c.payload(event(), "-100123") if type_ == "chat_c" else PAYLOADS[type_](event())
    assert web.heard[0].json == expected_payload


MOVED = '{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1009}}'


def test_a_chat_that_has_moved_is_followed(web: WebReceiver, outbound: OutboundSession) -> None:
    web.answers += [Says(400, MOVED), Says(200, '{"ok":true}')]
    sent = chat_c.send(fields_of("chat_c", ""), event(), outbound)
    assert sent.changes == {"chat_c_chat_id": "-1009"}
    assert [heard.json["chat_id"] for heard in web.heard] == ["-100123", "-1009"]


# --- drawing and cutting


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [([], ""), ([0, 0], "▁▁"), ([0, 1, 1000], "▁▂█"), ([5, 5], "██"), ([1, 2, 4, 8], "▂▃▅█")],
)
def test_bars(numbers: list[int], expected: str) -> None:
    assert bars(numbers) == expected


@pytest.mark.parametrize("most", [1, 2, 5, 9, 40])
def test_what_is_cut_is_never_half_an_escape(most: int) -> None:
    cut = fitted("<<<<😀😀<<", most, html.escape)
    assert units(cut) <= max(most, 1) and re.fullmatch(r"(&lt;|😀)*…?", cut)


@pytest.mark.parametrize("body", ["[" * 60_000, '{"a":' * 10_000, "9" * 5000, "[1]", ""])
def test_an_odd_answer_is_an_empty_object(body: str) -> None:
    assert read_object(body) == {}
