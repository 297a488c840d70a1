"""Section 6, as far as HTTP shows it: accounts, keys, health."""

from __future__ import annotations

import re

import pytest
import requests

from tests.contract.client import Client


def page(client: Client, path: str, **headers: str) -> requests.Response:
    return client.session.get(f"{client.url}{path}", headers=headers, allow_redirects=False, timeout=30)


def test_what_a_key_looks_like(api: Client) -> None:
    assert re.fullmatch("wp_[0-9A-Za-z]{36}", api.key or "")


def test_a_key_with_another_checksum_is_none(api: Client) -> None:
    assert api.key
    other = "0" if api.key[-1] != "0" else "1"
    assert Client(api.url, api.key[:-1] + other).get("/user").status_code == 401


def test_the_user_of_a_key(api: Client, reader: Client, other: Client) -> None:
    assert api.data("/user") == reader.data("/user")
    assert api.data("/user")["id"] != other.data("/user")["id"]


def test_over_http_nobody_makes_the_first_account(nobody: Client) -> None:
    """An account exists already, and without the one-time address there is no set-up page."""
    assert page(nobody, "/setup").status_code in {302, 303, 404}
    sent = {"email": "new@example.com", "password": "correct horse battery staple"}
    made = nobody.session.post(f"{nobody.url}/setup", data=sent, allow_redirects=False, timeout=30)
    assert made.status_code in {302, 303, 400, 403, 404}
    assert "Set-Cookie" not in made.headers or "dashboard" not in made.headers.get("Location", "")


@pytest.mark.parametrize("path", ["/dashboard/", "/dashboard/links/", "/dashboard/account/"])
def test_the_owners_pages_are_for_who_is_signed_in(nobody: Client, api: Client, path: str) -> None:
    for headers in ({}, {"Authorization": f"Bearer {api.key}"}):
        answer = page(nobody, path, **headers)
        assert answer.status_code in {302, 303}
        assert "/login" in answer.headers["Location"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health(nobody: Client, path: str) -> None:
    answer = page(nobody, path)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert isinstance(answer.json(), dict)


def test_metrics_are_not_for_everybody(nobody: Client) -> None:
    assert page(nobody, "/metrics").status_code in {401, 403, 404}
    assert page(nobody, "/metrics", Authorization="Bearer wrong").status_code in {401, 403, 404}


def test_the_front_page_leads_to_the_dashboard(nobody: Client) -> None:
    answer = page(nobody, "/")
    assert answer.status_code in {302, 303}
    assert answer.headers["Location"].endswith("/dashboard/")
