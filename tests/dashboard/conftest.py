"""Fixtures for dashboard tests: a signed-in Flask test client, without a browser."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.accounts.models import User
from tests.factories import PASSWORD

HTMX = {"HX-Request": "true"}


class Desk:
    """A signed-in client. Paths begin after `/dashboard`; `post` adds the CSRF token."""

    def __init__(self, client: FlaskClient, email: str) -> None:
        self.client, self.email = client, email

    def sign_in(self) -> Desk:
        data = {"csrf_token": self.token("/login"), "email": self.email, "password": PASSWORD}
        assert self.client.post("/login", data=data).status_code == 303
        return self

    def get(self, path: str, **options: Any) -> TestResponse:
        return self.client.get(f"/dashboard{path}", **options)

    def post(self, path: str, data: Mapping[str, Any], **options: Any) -> TestResponse:
        return self.client.post(f"/dashboard{path}", data={"csrf_token": self.token(), **data}, **options)

    def token(self, path: str = "/dashboard/account/") -> str:
        found = re.search(r'name="csrf_token" value="([^"]+)"', self.client.get(path).text)
        assert found
        return found[1]


@pytest.fixture
def desk(client: FlaskClient, alice: User) -> Desk:
    """The dashboard with alice signed in."""
    return Desk(client, alice.email).sign_in()
