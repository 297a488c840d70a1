"""Bodies of forms: small without a session, parsed once, and never by the framework's own parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.formparser import FormDataParser

from app.accounts.models import User
from app.web import body as web_body
from tests.clients import Api
from tests.dashboard.conftest import Desk

FORM = "application/x-www-form-urlencoded"
SMALL = 64 * 1024
#: this one needs only a token in the address
WITHOUT_BODY = {"stopping.stop"}


def writes(app: Flask, *blueprints: str) -> Iterator[tuple[str, str]]:
    for rule in app.url_map.iter_rules():
        if rule.endpoint.partition(".")[0] in blueprints and "POST" in (rule.methods or ()):
            yield rule.endpoint, re.sub("<[^>]*>", "1", rule.rule)


def body_of(size: int) -> bytes:
    return b"theme=dark&x=".ljust(size, b"x")


# without a provider of single sign-on they are 404; with one, tests/accounts/oidc asks them
NOT_THERE = {"accounts.oidc_logout"}


@pytest.fixture
def for_anybody(app: Flask) -> list[tuple[str, str]]:
    """Every form that can be sent without a session."""
    found = [*writes(app, "accounts"), ("dashboard.theme", "/dashboard/theme")]
    found = [each for each in found if each[0] not in NOT_THERE]
    assert len(found) > 7
    return found


def test_forms_for_anybody_are_small(
    client: FlaskClient, alice: User, for_anybody: list[tuple[str, str]]
) -> None:
    for endpoint, path in for_anybody:
        answer = client.post(path, data=body_of(SMALL + 1), content_type=FORM)
        assert answer.status_code == 413, endpoint
        assert "at most 64 KiB" in answer.text
        answer = client.post(path, data=body_of(SMALL), content_type=FORM)
        assert answer.status_code != 413, endpoint


def test_who_is_signed_in_may_send_more(desk: Desk, session: object) -> None:
    lines = "\n".join(f"https://example.com/{number}?{'x' * 1000}" for number in range(100))
    assert len(lines) > SMALL
    assert desk.post("/links/bulk", {"location_urls": lines}).status_code == 303


@pytest.mark.parametrize("content_type", [FORM, "multipart/form-data"])
def test_every_body_is_parsed_once(
    app: Flask,
    desk: Desk,
    client: FlaskClient,
    api: Api,
    content_type: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[int] = []
    parse = web_body.parse_body

    def counted(max_bytes: int) -> object:
        parsed.append(max_bytes)
        return parse(max_bytes)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Werkzeug was asked to parse a form")

    token = desk.token()
    monkeypatch.setattr(web_body, "parse_body", counted)
    monkeypatch.setattr(FormDataParser, "parse", refuse)
    calls: list[tuple[Callable[..., object], str, str]] = [
        *((client.post, *rule) for rule in writes(app, "accounts") if "logout" not in rule[0]),
        *((desk.client.post, *rule) for rule in writes(app, "dashboard") if "sessions" not in rule[0]),
        *((api.post, endpoint, path.removeprefix("/api")) for endpoint, path in writes(app, "api")),
    ]
    assert len(calls) > 40
    for send, endpoint, path in calls:
        parsed.clear()
        sent = {"csrf_token": token, "name": "x", "copy": "1", "password": "x"}
        send(path, data=sent, content_type=content_type)
        assert len(parsed) <= 1, endpoint
