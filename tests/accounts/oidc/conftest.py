"""Fixtures: a scripted provider, an instance that it is the provider of, and a browser between the two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.core.config import Settings, load_settings
from app.core.secret_keys.ring import SecretKeys, use_keys
from tests.accounts.oidc.scripted_provider import CLIENT, SECRET, ScriptedProvider, scripted_provider
from tests.migrations import environ


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with scripted_provider() as found:
        yield found


@pytest.fixture
def settings(
    data_dir: Path, database_url: str, provider: ScriptedProvider, request: pytest.FixtureRequest
) -> Settings:
    values = {"OIDC_ISSUER": provider.url, "OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": SECRET}
    for mark in reversed([*request.node.iter_markers("settings")]):
        values |= mark.kwargs
    found = load_settings(environ(data_dir, database_url, **values))
    use_keys(SecretKeys(found.secret_key, found.secret_key_old, found.secret_key_dir))
    return found


class Visit:
    """A browser that goes from Waypost to the provider and back."""

    def __init__(self, client: FlaskClient, provider: ScriptedProvider) -> None:
        self.client, self.provider = client, provider

    def begin(self, path: str = "/login/oidc", **query: str) -> str:
        """Press the button. Returns where the browser is sent: to the provider, or back with an error."""
        answer = self.client.get(f"{path}?{urlencode(query)}" if query else path)
        assert answer.status_code == 303, answer.text
        return str(answer.location)

    def come_back(self, address: str) -> TestResponse:
        parts = urlsplit(address)
        return self.client.get(f"{parts.path}?{parts.query}")

    def sign_in(self, path: str = "/login/oidc", **query: str) -> TestResponse:
        """The whole way. Returns the answer to the callback."""
        return self.come_back(self.provider.authorize(self.begin(path, **query)))

    def notice(self, answer: TestResponse) -> str:
        """The text of the page that an answer redirects to."""
        assert answer.status_code == 303
        return self.client.get(answer.location).text

    def is_signed_in(self) -> bool:
        return self.client.get("/dashboard/account/").status_code == 200

    def post(self, path: str, page: str, **fields: Any) -> TestResponse:
        """Send a form of a page, with that page's token."""
        found = re.search(r'name="csrf_token" value="([^"]+)"', self.client.get(page).text)
        assert found
        return self.client.post(path, data={"csrf_token": found[1], **fields})


@pytest.fixture
def visit(client: FlaskClient, provider: ScriptedProvider, session: Any) -> Visit:
    """In an application context, for tests that look into the database."""
    return Visit(client, provider)
