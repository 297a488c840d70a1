"""Pushover: what it takes, and what its answers mean."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

import pytest

from app.core import leases
from app.net.session import OutboundSession
from app.notifications.transports import pushover
from tests.notifications.messages import MESSAGES, MOMENT, NASTY, event, report
from tests.notifications.receivers import Says, WebReceiver
from tests.notifications.transports.answers import GONE, REFUSED, RETRY, Cases, check, wait

FIELDS = {"pushover": "a" * 30, "pushover_user_key": "u" * 30}


def error(**said: object) -> str:
    return json.dumps({"status": 0, "request": "5042853c-402d-4a18", **said})


@pytest.fixture(autouse=True)
def pushover_is_here(web_receiver: WebReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushover, "API", web_receiver.url)


@pytest.mark.parametrize("kind", MESSAGES)
def test_what_pushover_takes(kind: str) -> None:
    found = pushover.payload(MESSAGES[kind]())
    assert 1 <= len(found["message"]) <= 1024 and 1 <= len(found["title"]) <= 250
    assert found["priority"] in {"-2", "-1", "0", "1"}  # the next one would have to say how often it repeats
    assert "html" not in found and "monospace" not in found


def test_an_event() -> None:
    found = pushover.payload(event(type="link.destination_failing"))
    assert found["title"] == event().title and found["message"].startswith(
        "All 500 clicks are used up.\nShort"
    )
    assert (found["url"], found["url_title"]) == (event().url, "See it in Waypost")
    assert found["priority"] == "1" and found["timestamp"] == str(int(MOMENT.timestamp()))


def test_a_link_that_is_too_long_is_left_out() -> None:
    assert len(pushover.payload(event(url="https://go.example/" + "a" * 493))["url"]) == 512
    assert not pushover.payload(event(url="https://go.example/" + "a" * 494)).keys() & {"url", "url_title"}


def test_what_people_typed_is_as_typed() -> None:
    message = event(text=NASTY)
    assert NASTY in pushover.payload(message)["message"]  # plain text, in which nothing is markup


def test_a_report_of_two_links_is_shortened() -> None:
    found = pushover.payload(report(2))["message"]
    assert "Countries: Germany (100)" in found and "link-0" in found and "link-1" in found


def test_the_request(web: WebReceiver, outbound: OutboundSession) -> None:
    message = event(title="Ä & =+ 😀")
    pushover.send(FIELDS, message, outbound)
    (heard,) = web.heard
    assert (heard.method, heard.path) == ("POST", "/1/messages.json")
    assert heard.headers["content-type"] == "application/x-www-form-urlencoded"
    sent = {name: values[0] for name, values in parse_qs(heard.body.decode(), strict_parsing=True).items()}
    assert sent == {"token": "a" * 30, "user": "u" * 30, **pushover.payload(message)}
    assert sent["title"] == "Ä & =+ 😀"


RESET = {"X-Limit-App-Reset": str(int(MOMENT.timestamp()) + 86_400)}
ANSWERS: Cases = {
    "taken": (Says(200, '{"status":1,"request":"x"}'), None),
    "no such application": (Says(400, error(token="invalid", errors=["application token is invalid"])), GONE),
    "no such user": (Says(400, error(user="invalid", errors=["user identifier is not valid"])), GONE),
    "a message it does not like": (Says(400, error(message="cannot be blank", errors=["message cannot be blank"])), REFUSED),
    "too large": (Says(413, error(errors=["message is too large"])), REFUSED),
    "the month is used up": (Says(429, error(errors=["application is over its quota"]), RESET), wait(86_400)),
    "the month is used up, and when": (Says(429, error(), {"Retry-After": "7", **RESET}), wait(7)),
    "the month is used up until nonsense": (Says(429, error(), {"X-Limit-App-Reset": "soon"}), RETRY),
    "in trouble": (Says(500, error(errors=["internal error"])), RETRY),
    "a proxy's 400": (Says(400, "<h1>Bad Request</h1>"), RETRY),
    "a proxy's 404 in JSON": (Says(404, '{"status":404,"token":"invalid"}'), RETRY),
    "gone": (Says(410, "gone"), GONE),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_means(
    name: str, web: WebReceiver, outbound: OutboundSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushover, "precise_now", lambda: MOMENT)
    assert leases.precise_now() != MOMENT
    check("pushover", FIELDS, ANSWERS[name], web, outbound)
