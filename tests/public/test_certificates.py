"""The certificate endpoint: the names for which a proxy may request certificates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.accounts.models import User

ASKED = {
    "the links' host": ("go.example", 200),
    "in capitals": ("GO.example", 200),
    "the dashboard's": ("admin.example", 200),
    "a verified domain": ("brand.example", 200),
    "a verified one that is turned off": ("off.example", 200),
    "one that is not verified": ("claimed.example", 404),
    "a name below it": ("x.brand.example", 404),
    "anybody's": ("evil.example", 404),
    "an address": ("192.0.2.1", 404),
    "with a port": ("go.example:443", 404),
    "none": ("", 404),
    "what is no name": ("a b/../%00", 404),
    "a long one": ("a" * 300, 404),
}


@pytest.mark.settings(BASE_URL="https://go.example", DASHBOARD_URL="https://admin.example")
@pytest.mark.parametrize(("name", "status"), ASKED.values(), ids=ASKED)
def test_names(
    name: str, status: int, client: FlaskClient, alice: User, make_domain: Callable[..., Any]
) -> None:
    make_domain(alice, "brand.example")
    make_domain(alice, "off.example", is_enabled=False)
    make_domain(alice, "claimed.example", is_verified=False)
    answer = client.get("/healthz/certificate", query_string={"domain": name}, headers={"Host": "127.0.0.1"})
    assert (answer.status_code, answer.data) == (status, b"")


def test_it_is_nobodys_page_on_an_owners_domain(
    client: FlaskClient, alice: User, make_domain: Callable[..., Any]
) -> None:
    make_domain(alice, "brand.example")
    asked = {"domain": "brand.example"}
    answer = client.get("/healthz/certificate", query_string=asked, headers={"Host": "brand.example"})
    assert answer.status_code == 404
