"""Hosts: which may be a domain, how they are normalised, and warnings for those that look like another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from app.domains.hosts import is_like, name_of, read_host, readable
from app.input.parsers import Rejected
from tests.clients import Api
from tests.dashboard.conftest import desk

__all__ = ["desk"]

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


BAD = [
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


@pytest.mark.parametrize(("text", "code"), BAD)
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
