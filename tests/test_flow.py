"""The whole life of a link over HTTP against the real server, from set-up to deletion."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import requests

from tests.pages import Person
from tests.server import BROWSER, Server, wait_for

EMAIL, PASSWORD = "owner@example.com", "five small boats go upriver"
DESTINATION = "https://example.com/a/page?x=1#part"


def test_from_the_first_start_to_a_deleted_link(make_server: Callable[..., Server]) -> None:
    server = make_server()
    key = first_key(server)
    with requests.Session() as api:
        api.trust_env = False
        api.headers["Authorization"] = f"Bearer {key}"
        link = create(api, server)
        visit(server)
        wait_for(lambda: read(api, link)["clicks"] == 1, "the click", seconds=5)
        update(api, link, server)
        listed(api, server)
        delete(api, link, server)
    server.stop()
    assert "Traceback" not in server.written()


def first_key(server: Server) -> str:
    """Set up by the printed address, sign out, sign in again, and create a key on its page."""
    with Person(server.url) as owner:
        assert owner.open("/dashboard/").url.partition("?")[0].endswith("/login")
        assert owner.open("/setup", allow_redirects=False).status_code in {403, 404}
        page = owner.open(server.setup_address())
        home = owner.send_form(page, "/setup", email=EMAIL, name="Olive Owner", password=PASSWORD)
        assert "/dashboard" in home.url
        owner.send_form(owner.open("/logout"), "/logout")
        signed_in = owner.send_form(owner.open("/login"), "/login", email=EMAIL, password=PASSWORD)
        assert "/dashboard" in signed_in.url
        made = owner.send_form(owner.open("/dashboard/keys/new"), "/keys/new", name="flow")
        assert owner.open(server.setup_address()).status_code == 404
    found = re.search(r"wp_[0-9A-Za-z]{36}", made.text)
    assert found, made.text
    return found[0]


def create(api: requests.Session, server: Server) -> str:
    """Create a link by multipart, as the API's contract says. Returns the `Location`."""
    fields = {
        "location_url": DESTINATION,
        "url": "First",
        "title": "The first one",
        "http_status_code": "307",
    }
    parts = {name: (None, value) for name, value in fields.items()}
    answer = api.post(f"{server.url}/api/links", files=parts, timeout=30)
    assert answer.status_code == 201, answer.text
    assert answer.json() == {"data": {"id": 1}}
    assert answer.headers["Location"] == f"{server.url}/api/links/1"
    return answer.headers["Location"]


def read(api: requests.Session, link: str) -> dict[str, Any]:
    answer = api.get(link, timeout=30)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["data"]
    return found


def visit(server: Server) -> None:
    """One visit that counts, and two that do not: a program's, and a HEAD request."""
    for method, agent in [("GET", BROWSER), ("GET", "curl/8.5.0"), ("HEAD", BROWSER)]:
        headers = {"User-Agent": agent}
        answer = requests.request(
            method, f"{server.url}/first", headers=headers, allow_redirects=False, timeout=30
        )
        assert (answer.status_code, answer.headers["Location"]) == (307, DESTINATION)
        assert answer.headers["Cache-Control"] == "no-store"


def update(api: requests.Session, link: str, server: Server) -> None:
    """Only fields that were sent change, and visitors see it within a second."""
    before = read(api, link)
    answer = api.post(link, files={"is_enabled": (None, "0")}, timeout=30)
    assert (answer.status_code, answer.json()) == (200, {"data": {"id": 1}})
    changed = {name for name, value in read(api, link).items() if before[name] != value}
    assert changed == {"is_enabled", "last_datetime"}
    gone = lambda: requests.get(f"{server.url}/first", allow_redirects=False, timeout=30).status_code == 404  # noqa: E731
    wait_for(gone, "the disabled link's 404", seconds=5)


def listed(api: requests.Session, server: Server) -> None:
    answer = api.get(f"{server.url}/api/links/", timeout=30).json()
    assert [link["url"] for link in answer["data"]] == ["First"]
    assert answer["meta"] == {"page": 1, "results_per_page": 25, "total": 1, "total_pages": 1}
    assert answer["links"]["self"].startswith(f"{server.url}/api/links?")


def delete(api: requests.Session, link: str, server: Server) -> None:
    answer = api.delete(link, timeout=30)
    assert (answer.status_code, answer.content) == (204, b"")
    assert api.get(link, timeout=30).status_code == 404
    assert api.get(f"{server.url}/api/links", timeout=30).json()["meta"]["total"] == 0
