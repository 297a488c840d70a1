"""Domains: their API, what may not be one, and what visitors get after each change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.domains.models import Domain
from app.links.models import Alias
from tests.api.shape import always, fields, problem
from tests.clients import Api

KEYS = ["id", "host", "scheme", "custom_index_url", "custom_not_found_url", "is_enabled", "is_verified"]
KEYS += ["verification", "warnings", "last_datetime", "datetime"]
HOST = {"host": "go.example"}
TO = "https://example.com/"


def made(api: Api, sent: dict[str, Any]) -> int:
    answer = api.post("/domains", sent)
    assert answer.status_code == 201, answer.text
    always(answer)
    return int(answer.json["data"]["id"])


def codes(answer: Any) -> list[tuple[str, str]]:
    return [(entry["field"], entry["code"]) for entry in problem(answer, 422)]


def test_the_whole_life_of_a_domain(api: Api, session: scoped_session[Session]) -> None:
    number = made(
        api, {"host": "Go.Example:443", "is_verified": "1", "token": "mine", "custom_index_url": TO}
    )
    data = api.get(f"/domains/{number}").json["data"]
    assert list(data) == KEYS
    assert (data["host"], data["scheme"], data["custom_index_url"]) == ("go.example", "https://", TO)
    assert (data["custom_not_found_url"], data["is_enabled"], data["is_verified"]) == (None, True, False)
    token = data["verification"]["file_content"]
    assert len(token) > 40
    assert data["verification"] == {
        "txt_name": "_waypost.go.example",
        "txt_value": f"waypost-verification={token}",
        "file_url": "https://go.example/.well-known/waypost",
        "file_content": token,
    }
    sent = {"scheme": "http", "custom_index_url": "", "custom_not_found_url": TO + "lost", "is_enabled": "0"}
    assert api.post(f"/domains/{number}", sent).json == {"data": {"id": number}}
    data = api.get(f"/domains/{number}").json["data"]
    assert (data["scheme"], data["custom_index_url"], data["is_enabled"]) == ("http://", None, False)
    assert data["verification"]["file_url"] == "http://go.example/.well-known/waypost"
    assert data["verification"]["file_content"] == token
    assert data["last_datetime"]
    assert api.delete(f"/domains/{number}").status_code == 204


BAD = [
    ("host", "", "required"), ("host", "127.0.0.1", "ip_address"), ("host", "localhost", "own"), ("host", "gо.example", "look_alike"),
    ("host", "LOCALHOST:9000", "own"), ("scheme", "ftp://", "choice"), ("custom_index_url", "javascript:alert(1)", "scheme"),
    ("custom_not_found_url", "/lost", "scheme"), ("custom_not_found_url", "https://go.example/x", "circle"),
    ("custom_index_url", "http://GO.example:8080", "circle"), ("is_enabled", "maybe", "boolean"),
]  # fmt: skip


def test_a_bad_field_is_named(api: Api, make_domain: Callable[..., Any], alice: User) -> None:
    for name, value, code in BAD:
        assert codes(api.post("/domains", {**HOST, name: value})) == [(name, code)], value
    stored = make_domain(alice, "go.example")
    for name, value, code in BAD:
        assert codes(api.post(f"/domains/{stored.id}", {name: value})) == [(name, code)], value


@pytest.mark.settings(BASE_URL="https://short.example", DASHBOARD_URL="https://desk.example:8443")
@pytest.mark.parametrize(
    "host", ["short.example", "short.example:9000", "desk.example", "asked.example:81", "Short.Example."]
)
def test_our_own_hosts(api: Api, host: str) -> None:
    answer = api.post("/domains", {"host": host}, base_url="https://desk.example:8443")
    if host.startswith("asked"):
        assert answer.status_code == 201
    else:
        assert codes(answer) == [("host", "own")]


def test_the_host_that_is_asked(api: Api) -> None:
    assert codes(api.post("/domains", HOST, base_url="http://go.example:8000")) == [("host", "own")]


@pytest.mark.databases
def test_somebody_elses(api: Api, bob: User, make_domain: Callable[..., Any]) -> None:
    make_domain(bob, "go.example"), make_domain(bob, "free.example", is_verified=False)
    for host in ("go.example", "go.example:8443"):
        assert codes(api.post("/domains", {"host": host})) == [("host", "taken")]
    mine = made(api, {"host": "free.example"})
    assert codes(api.post("/domains", {"host": "free.example"})) == [("host", "exists")]
    assert codes(api.post(f"/domains/{mine}", HOST)) == [("host", "taken")]
    sent = {"custom_not_found_url": "https://go.example/lost"}
    assert codes(api.post(f"/domains/{mine}", sent)) == [("custom_not_found_url", "circle")]


@pytest.mark.databases
def test_links_on_it(api: Api, make_domain: Callable[..., Any], alice: User, session: Any) -> None:
    """It can't be deleted while it has links. Unverified or switched off, it accepts none.

    Held aliases are deleted with it.
    """
    domain = make_domain(alice, "go.example")
    link = api.post("/links", {"location_url": TO, "url": "a", "domain_id": domain.id}).json["data"]["id"]
    assert api.get(f"/links/{link}").json["data"]["short_url"] == "https://go.example/a"
    assert problem(api.delete(f"/domains/{domain.id}"), 409)[0]["code"] == "in_use"
    assert api.get(f"/domains/{domain.id}").status_code == 200
    for columns in ({"is_enabled": False}, {"is_verified": False}):
        session.execute(sa.update(Domain).values(is_enabled=True, is_verified=True))
        session.execute(sa.update(Domain).values(**columns))
        session.commit()
        sent = {"location_url": TO, "domain_id": domain.id}
        assert fields(problem(api.post("/links", sent), 422)) == {"domain_id"}
    assert api.delete(f"/links/{link}").status_code == 204
    assert session.scalars(sa.select(Alias)).all() != []
    assert api.delete(f"/domains/{domain.id}").status_code == 204
    assert session.scalars(sa.select(Alias)).all() == []


def test_another_host_is_verified_anew(api: Api, make_domain: Callable[..., Any], alice: User) -> None:
    domain = make_domain(alice, "go.example", token="old")
    assert api.post(f"/domains/{domain.id}", {"host": "GO.example"}).status_code == 200
    data = api.get(f"/domains/{domain.id}").json["data"]
    assert (data["is_verified"], data["verification"]["file_content"]) == (True, "old")
    assert api.post(f"/domains/{domain.id}", {"host": "new.example"}).status_code == 200
    data = api.get(f"/domains/{domain.id}").json["data"]
    assert data["is_verified"] is False
    assert data["verification"]["file_content"] != "old"


def test_orders_and_filters(api: Api, make_domain: Callable[..., Any], alice: User) -> None:
    last = make_domain(alice, "z.example").id
    first = make_domain(alice, "a.example", is_verified=False, is_enabled=False).id
    for query, found in [
        ("order_by=host", [first, last]), ("order_by=domain_id", [last, first]), ("is_verified=1", [last]),
        ("is_enabled=0", [first]), ("search=A.EX", [first]),
    ]:  # fmt: skip
        assert [row["id"] for row in api.get(f"/domains?{query}").json["data"]] == found, query
