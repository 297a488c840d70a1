"""Matrix: what it takes, escaping of typed text, and what its answers mean."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser

import pytest

from app.net.session import OutboundSession
from app.notifications.transports import matrix
from tests.notifications.messages import MESSAGES, NASTY, event, nasty, report
from tests.notifications.receivers import Says, WebReceiver
from tests.notifications.transports.answers import GONE, REFUSED, RETRY, Cases, check, wait

# spec.matrix.org, m.room.message, of which these are the ones that are used
TAGS = {"p", "strong", "br", "h4", "ul", "li", "a", "code"}


def error(code: str, words: str = "No", **more: object) -> str:
    return json.dumps({"errcode": code, "error": words, **more})


def fields(url: str) -> dict[str, str]:
    return {"matrix": url, "matrix_room_id": "!a/b?c:example.org", "matrix_token": "syt_x"}


class Tags(HTMLParser):
    """Collects the tags of a text, and checks that each is closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        assert {name for name, _ in attrs} <= ({"href"} if tag == "a" else set())
        self.links += [value or "" for _, value in attrs]
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("kind", MESSAGES)
def test_what_matrix_takes(kind: str) -> None:
    found = matrix.payload(MESSAGES[kind]())
    assert len(json.dumps(found, ensure_ascii=False).encode()) <= 60_000  # of an event's 65,536
    assert found["msgtype"] == "m.text" and found["format"] == "org.matrix.custom.html"
    assert Tags(found["formatted_body"]).found <= TAGS and found["body"]
    assert found["m.mentions"] == {}


def test_an_event() -> None:
    found = matrix.payload(event())
    assert found["body"].startswith(
        "go.example/launch has reached its click limit\nAll 500 clicks are used up.\n"
    )
    assert found["body"].endswith("\nhttps://go.example/dashboard/links/7")
    assert found["formatted_body"] == (
        "<p><strong>go.example/launch has reached its click limit</strong></p>"
        "<p>All 500 clicks are used up.</p>"
        "Short link: <code>https://go.example/launch</code><br>"
        "Destination: <code>https://example.com/landing?a=1&amp;b=2</code><br>"
        "Clicks: 500<br>"
        '<p><a href="https://go.example/dashboard/links/7">See it in Waypost</a></p>'
    )


def test_what_people_typed_is_nothing_but_text() -> None:
    found = matrix.payload(nasty())
    tags = Tags(found["formatted_body"])
    assert tags.found <= TAGS and tags.links == [
        "https://go.example/x",
        "https://go.example/dashboard/links/7",
    ]
    shown = html.unescape(re.sub("<[^>]*>", "", found["formatted_body"]))
    assert shown.count(NASTY) >= 4
    odd = matrix.payload(event(url="javascript:alert(1)", title='"><img src=x onerror=alert(1)>'))
    assert not Tags(odd["formatted_body"]).links and "<img" not in odd["formatted_body"]


def test_a_report_has_headings_and_lists() -> None:
    found = matrix.payload(report())["formatted_body"]
    for part in ("<strong>Your weekly report</strong>", "<p>Countries</p>", "<li>Germany: 100</li>",
                 '<h4><a href="https://go.example/link-0">go.example/link-0</a></h4>'):  # fmt: skip
        assert part in found
    assert re.search(r"<p>And \d+ more links\.</p>", matrix.payload(report(200))["formatted_body"])


@pytest.mark.parametrize("server", ["", "/", "/synapse"])
def test_the_request(server: str, web: WebReceiver, outbound: OutboundSession) -> None:
    for _ in range(2):  # a second attempt is the same request, which a homeserver recognizes
        matrix.send(fields(web.url + server), event(), outbound)
    path = "/_matrix/client/v3/rooms/%21a%2Fb%3Fc%3Aexample.org/send/m.room.message/msg_0011223344556677"
    for heard in web.heard:
        assert (heard.method, heard.path) == ("PUT", server.rstrip("/") + path)
        assert heard.headers["authorization"] == "Bearer syt_x"
        assert heard.json == matrix.payload(event())


ANSWERS: Cases = {
    "taken": (Says(200, '{"event_id":"$x"}'), None),
    "no such token": (Says(401, error("M_UNKNOWN_TOKEN", soft_logout=False)), GONE),
    "an expired token": (Says(401, error("M_UNKNOWN_TOKEN", soft_logout=True)), GONE),
    "not in the room": (Says(403, error("M_FORBIDDEN", "User @way:x not in room")), GONE),
    "a user that is no more": (Says(403, error("M_USER_DEACTIVATED")), GONE),
    "locked for a while": (Says(401, error("M_USER_LOCKED")), RETRY),
    "too large": (Says(413, error("M_TOO_LARGE")), REFUSED),
    "a message it does not like": (Says(400, error("M_BAD_JSON")), REFUSED),
    "too often": (Says(429, error("M_LIMIT_EXCEEDED", retry_after_ms=2500)), wait(2.5)),
    "too often, as since 1.10": (Says(429, error("M_LIMIT_EXCEEDED"), {"Retry-After": "3"}), wait(3)),
    "too often, with both": (Says(429, error("M_LIMIT_EXCEEDED", retry_after_ms=9), {"Retry-After": "3"}), wait(3)),
    "too often, for a nonsense time": (Says(429, error("M_LIMIT_EXCEEDED", retry_after_ms=True)), RETRY),
    "too often, for less than no time": (Says(429, error("M_LIMIT_EXCEEDED", retry_after_ms=-5)), wait(0)),
    "no homeserver": (Says(404, error("M_UNRECOGNIZED")), RETRY),
    "its words with 502": (Says(502, error("M_FORBIDDEN")), RETRY),
    "a proxy's 403": (Says(403, "<h1>Forbidden</h1>"), RETRY),
    "in trouble": (Says(500, error("M_UNKNOWN", "Internal server error")), RETRY),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_means(name: str, web: WebReceiver, outbound: OutboundSession) -> None:
    check("matrix", fields(web.url), ANSWERS[name], web, outbound)
