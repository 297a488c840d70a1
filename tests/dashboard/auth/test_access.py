"""Access to the dashboard: it refuses requests without a session, for others' rows and from other sites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select
from sqlalchemy.orm import Session, scoped_session
from werkzeug.test import TestResponse

from app.accounts.models import User
from app.pixels.models import Pixel
from tests.dashboard.conftest import Desk

PIXEL = {"type": "social_a", "name": "Shop", "pixel": "1234567890123456"}
OPEN = {"dashboard.theme"}


def rules(app: Flask, method: str) -> Iterator[tuple[str, str]]:
    """Every page of the dashboard, with 1 for each id."""
    for rule in app.url_map.iter_rules():
        if rule.endpoint.startswith("dashboard.") and method in (rule.methods or ()):
            yield rule.endpoint, re.sub("<[^>]*>", "1", rule.rule)


def count(session: scoped_session[Session]) -> int:
    return session.scalar(select(func.count()).select_from(Pixel)) or 0


def test_a_part_of_a_page_is_not_swapped_for_the_sign_in_page(app: Flask, client: FlaskClient) -> None:
    for endpoint, path in rules(app, "GET"):
        assert client.get(path, headers={"HX-Request": "true"}).status_code == 401, endpoint


def test_nothing_is_written_without_the_token(app: Flask, desk: Desk, alice: User) -> None:
    for endpoint, path in rules(app, "POST"):
        if endpoint not in OPEN:
            answer = desk.client.post(path, data=PIXEL)
            assert answer.status_code == 403, endpoint
            assert answer.headers["X-CSRFToken"], endpoint


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_nothing_is_written_from_another_site(
    desk: Desk, session: scoped_session[Session], headers: dict[str, str]
) -> None:
    assert desk.post("/pixels/new", PIXEL, headers=headers).status_code == 403
    assert count(session) == 0
    assert desk.post("/pixels/new", PIXEL, headers={"Origin": "http://localhost"}).status_code == 303
    assert count(session) == 1


def test_an_id_that_no_database_can_hold_is_not_there(app: Flask, desk: Desk) -> None:
    for method in ("GET", "POST"):
        for endpoint, path in rules(app, method):
            if (beyond := re.sub(r"/1(?=/|$)", f"/{2**63}", path)) == path:
                continue
            sent = {"data": {"csrf_token": desk.token(), **PIXEL}} if method == "POST" else {}
            assert desk.client.open(beyond, method=method, **sent).status_code == 404, endpoint


def policy(answer: TestResponse) -> dict[str, str]:
    directives = answer.headers["Content-Security-Policy"].split("; ")
    return dict(directive.split(" ", 1) for directive in directives)


@pytest.mark.parametrize("path", ["/links/", "/links/new", "/keys/", "/account/", "/nothing"])
def test_headers(desk: Desk, path: str) -> None:
    answer = desk.get(path)
    assert policy(answer) == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "manifest-src": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    assert "Cross-Origin-Opener-Policy" not in answer.headers  # plain HTTP: no proxy says otherwise
    fetched = desk.get(path, headers={"Sec-Fetch-Site": "same-origin"})
    secure = desk.get(path, base_url="https://localhost")
    for other in (fetched, secure):
        assert other.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert path == "/nothing" or "HX-Request" in answer.headers["Vary"] or path == "/account/"


def test_no_page_has_a_script_or_a_style_in_it(app: Flask, desk: Desk, alice: User, factory: Any) -> None:
    """The Content-Security-Policy would block inline scripts and styles, so pages have none."""
    for make in (factory.link, factory.pixel, factory.handler, factory.key, factory.project, factory.domain):
        make(alice)
    for _, path in rules(app, "GET"):
        page = desk.client.get(path).text
        if path.endswith("/capture/tools"):  # what is dragged to the bookmarks bar; here the policy stops it
            page = re.sub(r'(href|data-copy)="javascript:[^"<>]*"', "", page)
        assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:", page), path
