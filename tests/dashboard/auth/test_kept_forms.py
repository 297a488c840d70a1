"""Forms whose session was over: the sign-in page keeps what was typed, for the same account alone."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import delete
from werkzeug.test import TestResponse

from app.accounts.models import User, UserSession
from app.core.extensions import db
from app.links.models import Link
from app.projects.models import Project
from tests.dashboard.conftest import Desk
from tests.factories import PASSWORD

TYPED = {"name": "Kept <\"&'>\r\nline", "color": "#123456"}


def hidden(answer: TestResponse, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', answer.text)
    return html.unescape(found[1]) if found else ""


def end_session() -> None:
    db.session.rollback()
    db.session.execute(delete(UserSession))
    db.session.commit()


def send_signed_out(desk: Desk, path: str, fields: dict[str, Any]) -> TestResponse:
    page = desk.get(path)
    account = hidden(page, "account")
    assert account
    token = hidden(page, "csrf_token")
    end_session()
    sent = {"csrf_token": token, "account": account, **fields}
    return desk.client.post(f"/dashboard{path}", data=sent)


def sign_in(client: FlaskClient, page: TestResponse, email: str, **more: str) -> TestResponse:
    data = {"csrf_token": hidden(page, "csrf_token"), "kept": hidden(page, "kept"), "next": ""}
    return client.post("/login", data={**data, "email": email, "password": PASSWORD, **more})


def go_on(client: FlaskClient, page: TestResponse) -> TestResponse:
    """Press the button of the page after the sign-in."""
    action = re.search(r'<form method="post" action="(/dashboard/[^"]+)"', page.text)
    assert action
    fields = {
        html.unescape(name): html.unescape(value)
        for name, value in re.findall(r'<textarea name="([^"]+)" hidden>\n(.*?)</textarea>', page.text, re.S)
    }
    token = hidden(page, "csrf_token")
    return client.post(action[1], data={**fields, "csrf_token": token, "again": "1"})


def test_the_form_is_there_again(desk: Desk, alice: User) -> None:
    email = alice.email
    page = send_signed_out(desk, "/projects/new", TYPED)
    assert page.status_code == 401
    assert "What you typed is kept on this page" in page.text
    assert "Kept &lt;" not in page.text, "nobody can read it before the sign-in"
    wrong = sign_in(desk.client, page, email, password="a wrong one")
    assert wrong.status_code == 403
    after = sign_in(desk.client, wrong, email)
    assert after.status_code == 200
    assert "Nothing of it is saved yet." in after.text
    assert "Passwords and files are not kept" not in after.text
    shown = go_on(desk.client, after)
    assert shown.status_code == 200
    assert 'value="#123456"' in shown.text
    assert html.escape("Kept <\"&'>", quote=False)[:8] in shown.text
    assert db.session.query(Project).count() == 0


def test_another_account_gets_nothing(desk: Desk, bob: User) -> None:
    email = bob.email
    page = send_signed_out(desk, "/projects/new", TYPED)
    answer = sign_in(desk.client, page, email)
    assert answer.status_code == 303
    assert "Kept" not in answer.text


# each: the page of the form, what is typed, and what is shown again
FORMS: dict[str, tuple[str, dict[str, str], str]] = {
    "a link": ("/links/new", {"location_url": "https://example.com/kept", "title": "A"}, "example.com/kept"),
    "many": ("/links/bulk", {"location_urls": "https://example.com/1\r\nhttps://example.com/kept"}, "/kept"),
    "a pixel": ("/pixels/new", {"type": "social_a", "name": "Kept", "pixel": "1"}, 'value="Kept"'),
    "a handler": ("/handlers/new", {"type": "email", "name": "Kept", "email": "x"}, 'value="Kept"'),
    "a domain": ("/domains/new", {"host": "kept.example"}, 'value="kept.example"'),
    "a key": ("/keys/new", {"name": "Kept", "scope": "read"}, 'value="Kept"'),
    "an invitation": ("/users/invitations/new", {"email": "kept@example.com"}, "kept@example.com"),
    "the account": ("/account/", {"name": "Kept", "timezone": "UTC", "language": "en"}, 'value="Kept"'),
    "the address": ("/account/email", {"new_email": "kept@example.com"}, "kept@example.com"),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_shown_again(desk: Desk, alice: User, name: str) -> None:
    alice.is_admin = True
    db.session.commit()
    email, (path, typed, shown) = alice.email, FORMS[name]
    after = sign_in(desk.client, send_signed_out(desk, path, typed), email)
    again = go_on(desk.client, after)
    assert again.status_code == 200
    assert shown in again.text
    assert "aria-invalid" not in again.text
    assert db.session.query(Link).count() == 0


def test_passwords_are_not_kept_and_that_is_said(desk: Desk, alice: User) -> None:
    email = alice.email
    typed = {"location_url": "https://example.com/", "password": "a secret of the link"}
    after = sign_in(desk.client, send_signed_out(desk, "/links/new", typed), email)
    assert "Passwords and files are not kept" in after.text
    assert "a secret of the link" not in after.text
