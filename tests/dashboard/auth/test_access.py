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


def test_there_are_pages(app: Flask) -> None:
    assert len(list(rules(app, "GET"))) > 15
    assert len(list(rules(app, "POST"))) > 12


def test_who_is_not_signed_in_is_sent_to_sign_in_and_back(app: Flask, client: FlaskClient) -> None:
    for endpoint, path in rules(app, "GET"):
        answer = client.get(path)
        assert answer.status_code == 302, endpoint
        assert answer.location.startswith(f"/login?next={path}"), endpoint


def test_a_part_of_a_page_is_not_swapped_for_the_sign_in_page(app: Flask, client: FlaskClient) -> None:
    for endpoint, path in rules(app, "GET"):
        assert client.get(path, headers={"HX-Request": "true"}).status_code == 401, endpoint


def test_nothing_is_written_for_who_is_not_signed_in(app: Flask, client: FlaskClient) -> None:
    for endpoint, path in rules(app, "POST"):
        if endpoint not in OPEN:
            assert client.post(path, data=PIXEL).status_code == 401, endpoint


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


def test_rows_of_others_are_not_there(
    app: Flask, desk: Desk, bob: User, factory: Any, session: scoped_session[Session]
) -> None:
    """Bob's rows have the id 1 of each kind. Alice requests every page of them and gets 404."""
    rows = [factory.link(bob), factory.pixel(bob), factory.handler(bob), factory.key(bob)[0]]
    rows += [factory.project(bob), factory.domain(bob), factory.share(bob)[0]]
    assert {row.id for row in rows} == {1}
    paths = [path for method in ("GET", "POST") for _, path in rules(app, method)]
    # workspace 1 and member 1 are her own; tests/rights asks for those of others
    pages = [
        path for path in paths if re.search("/1(?=/|$)", re.sub("^/dashboard/w/1/|/members/1/", "/", path))
    ]
    assert len(pages) > 12
    read, written = ({path for _, path in rules(app, method)} for method in ("GET", "POST"))
    for path in pages:
        asked = desk.client.get(path)
        assert asked.status_code == (404 if path in read else 405), path
        if path not in written:
            continue
        assert desk.post(path.removeprefix("/dashboard"), PIXEL).status_code == 404, path
    session.expire_all()
    assert count(session) == 1
    assert rows[3].revoked_datetime is rows[-1].revoked_datetime is None


def test_an_id_that_no_database_can_hold_is_not_there(app: Flask, desk: Desk) -> None:
    for method in ("GET", "POST"):
        for endpoint, path in rules(app, method):
            if (beyond := re.sub(r"/1(?=/|$)", f"/{2**63}", path)) == path:
                continue
            sent = {"data": {"csrf_token": desk.token(), **PIXEL}} if method == "POST" else {}
            assert desk.client.open(beyond, method=method, **sent).status_code == 404, endpoint


def test_lists_show_own_rows_only(desk: Desk, bob: User, factory: Any) -> None:
    factory.link(bob, "bobs-link")
    factory.pixel(bob, name="bobs-pixel")
    factory.handler(bob, name="bobs-handler")
    factory.key(bob, name="bobs-key")
    factory.project(bob, name="bobs-project")
    factory.domain(bob, "bobs-domain.example")
    for path in ("/links/", "/pixels/", "/handlers/", "/keys/", "/projects/", "/domains/", "/links/new"):
        answer = desk.get(path)
        assert answer.status_code == 200
        assert "bobs-" not in answer.text


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
