"""Warnings for a host that looks like a verified domain of another user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from app.domains.hosts import is_like
from tests.clients import Api
from tests.dashboard.conftest import desk

__all__ = ["desk"]

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
