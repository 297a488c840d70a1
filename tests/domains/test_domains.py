"""Domains: their API, which hosts may be one, how they are normalised, and which look like another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.domains.hosts import is_like, name_of, read_host, readable
from app.domains.models import Domain
from app.input.parsers import Rejected
from app.links.models import Alias
from tests.api.shape import always, fields, problem
from tests.clients import Api
from tests.dashboard.conftest import desk

__all__ = ["desk"]

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


GOOD = [
    ("go.example", "go.example"), ("GO.Example", "go.example"), ("go.example.", "go.example"),
    ("go.example:443", "go.example"), ("go.example:80", "go.example"), ("go.example:8443", "go.example:8443"),
    ("gö.example", "xn--g-1ga.example"), ("xn--g-1ga.example", "xn--g-1ga.example"), ("go", "go"),
    ("go.localhost:8000", "go.localhost:8000"), ("例え.jp", "xn--r8jz45g.jp"), ("мой-сайт.рф", "xn----8sbzclmxk.xn--p1ai"),
    ("сор.рф", "xn--n1aeb.xn--p1ai"), ("пример.com", "xn--e1afmkfd.com"), ("1.2.3.example", "1.2.3.example"),
    ("straße.example", "xn--strae-oqa.example"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "host"), GOOD)
def test_a_host(text: str, host: str) -> None:
    assert read_host(text) == host
    assert read_host(readable(host)) == host


NO_HOSTS = [
    ("127.0.0.1", "ip_address"), ("127.1", "ip_address"), ("0x7f000001", "ip_address"), ("2130706433", "ip_address"),
    ("8.8.8.8:8000", "ip_address"), ("[::1]", "ip_address"), ("[::1]:80", "ip_address"), ("::1", "ip_address"),
    ("１２７.0.0.1", "ip_address"), ("localhost", "own"), ("LOCALHOST:8000", "own"),
    ("https://go.example", "host"), ("go.example/", "host"), ("me@go.example", "host"), ("go.example:0", "host"),
    ("go.example:65536", "host"), ("go.example:x", "host"), (":80", "host"), ("go..example", "host"), (".example", "host"),
    ("-go.example", "host"), ("go-.example", "host"), ("a_b.example", "host"), ("x" * 64 + ".example", "host"),
    (".".join(["a" * 60] * 5), "too_long"), ("999.999.999.999", "host"), ("go.example%2e", "host"),
    ("go\\example", "host"), ("*.example", "host"), ("i❤.example", "host"), ("xn--a.example", "host"),
    ("xn--.example", "host"), ("go example", "white_space"), ("go\0.example", "control_characters"),
    # the o, the whole word, or the a is Cyrillic; the o is Greek; the digits are another script's
    ("gо.example", "look_alike"), ("аррӏе.com", "look_alike"), ("xn--80ak6aa92e.com", "look_alike"),
    ("pаypal.com", "look_alike"), ("gοogle.com", "look_alike"), ("ο.com", "look_alike"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code"), NO_HOSTS)
def test_no_host(text: str, code: str) -> None:
    with pytest.raises(Rejected) as caught:
        read_host(text)
    assert caught.value.args[0].code == code


def test_a_host_without_its_port() -> None:
    assert (name_of("go.example:8443"), name_of("go.example")) == ("go.example", "go.example")
    assert readable("xn--g-1ga.example:8443") == "gö.example:8443"


# hosts as people read them, and the host that each looks like
LIKE = [
    ("gö.example", "go.example"), ("g0.example", "go.example"), ("examp1e.com", "example.com"), ("rnail.example", "mail.example"),
    ("vvay.example", "way.example"), ("соор.example", "coop.example"), ("кот.example", "kot.example"),
    ("αβ.example", "ab.example"), ("pаypal.example", "paypal.example"), ("straße.example", "strasse.example"),
    ("doud.example", "cloud.example"), ("go.example:8443", "gо.example"), ("xn--g-1ga.example", "go.example"),
    ("xn--80ak6aa92e.com", "apple.com"),
]  # fmt: skip
UNLIKE = [("go.example", "to.example"), ("ab.example", "ba.example"), ("мир.example", "mir.example"), ("例え.example", "例.example")]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), LIKE)
def test_what_a_quick_eye_takes_for_one_another(one: str, other: str) -> None:
    assert is_like(one, [other])
    assert is_like(other, [one])


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_what_it_tells_apart(one: str, other: str) -> None:
    assert not is_like(one, [other])


def added(api: Api, host: str) -> dict[str, Any]:
    answer = api.post("/domains", {"host": host}, headers={"Prefer": "return=representation"})
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json["data"]
    return data


def test_the_api_warns_when_it_is_added(api: Api, bob: User, make_domain: Callable[..., Any]) -> None:
    make_domain(bob, "brand.example")
    data = added(api, "bränd.example")
    assert (data["host"], [one["code"] for one in data["warnings"]]) == (
        "xn--brnd-moa.example",
        ["look_alike"],
    )
    assert "brand" not in data["warnings"][0]["detail"]  # a user does not see the other's domain
    assert api.get("/domains?search=xn--").json["data"][0]["warnings"] == data["warnings"]
    assert added(api, "other.example")["warnings"] == []


def test_ones_own_and_unproved_hosts_are_no_reason(
    api: Api, alice: User, bob: User, make_domain: Callable[..., Any]
) -> None:
    make_domain(alice, "mine.example")
    make_domain(bob, "theirs.example", is_verified=False)
    assert [added(api, host)["warnings"] for host in ("minë.example", "thêirs.example")] == [[], []]
