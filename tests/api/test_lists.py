"""Lists of the API: pages, filters, search and order, by the contract."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import cycle
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from app.accounts.models import User
from tests.api.shape import fields, problem
from tests.clients import Api

MAKERS = {
    "/links": "make_link",
    "/pixels": "make_pixel",
    "/notification-handlers": "make_handler",
    "/projects": "make_project",
    "/domains": "make_domain",
}
Make = Callable[..., Any]


@pytest.fixture(params=MAKERS)
def path(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ids(answer: Any) -> list[int]:
    assert answer.status_code == 200, answer.text
    return [row["id"] for row in answer.json["data"]]


def page_of(address: str | None) -> int | None:
    return int(dict(parse_qsl(urlsplit(address).query))["page"]) if address else None


PAGES = {
    # page: how many rows, next, prev
    1: (10, 2, None),
    2: (10, 3, 1),
    3: (1, None, 2),
    4: (0, None, 3),
    9_223_372_036_854_775_807: (0, None, 3),
}


def test_pages(api: Api, make_pixel: Make, alice: User) -> None:
    path = "/pixels"
    everything = [make_pixel(alice).id for _ in range(21)]
    seen = []
    for page, (rows, following, before) in PAGES.items():
        answer = api.get(f"{path}/?results_per_page=10&page={page}&type=social_a&x=%C3%A4&x=2")
        links = answer.json["links"]
        seen += ids(answer)
        assert len(answer.json["data"]) == rows
        assert answer.json["meta"] == {"page": page, "results_per_page": 10, "total": 21, "total_pages": 3}
        assert {name: page_of(address) for name, address in links.items()} == {
            "first": 1, "last": 3, "next": following, "prev": before, "self": page
        }  # fmt: skip
        for address in filter(None, links.values()):
            assert address.startswith(f"http://localhost/api{path}?")
            carried = parse_qsl(urlsplit(address).query)
            assert [pair for pair in carried if pair[0] != "page"] == [
                ("results_per_page", "10"), ("type", "social_a"), ("x", "ä"), ("x", "2")
            ]  # fmt: skip
        for name, address in links.items():
            assert (f'<{address}>; rel="{name}"' in answer.headers["Link"]) is (address is not None)
    assert seen == everything


def test_a_query_that_can_not_be_read(api: Api) -> None:
    for query in ("search=%00", "search=%ff", "x%00=1", "page=%ED%A0%80"):
        for path in MAKERS:
            problem(api.get(f"{path}?{query}"), 400)


@pytest.mark.databases
def test_a_long_search_is_refused_and_a_shorter_one_is_not(api: Api) -> None:
    """Tries the longest search that fits into a query, and one that a database would refuse as a pattern."""
    for path, character in zip(MAKERS, cycle(["a", "%", "\\", "\U0001f600"]), strict=False):
        longest = min(2048, 3400 // len(quote(character)))
        assert ids(api.get(path, query_string={"search": character * longest})) == []
        assert fields(problem(api.get(path, query_string={"search": "a" * 2049}), 422)) == {"search"}
        problem(api.get(path, query_string={"search": character * 50_000}), 422)


def test_a_long_query_is_refused(api: Api) -> None:
    """Unknown parameters count as well, because the links to other pages repeat them."""
    for path in MAKERS:
        problem(api.get(path, query_string={"x": "a" * 3499}), 422)
        problem(api.get(path, query_string="x=1&" * 1001), 422)


def test_the_link_header_is_short(api: Api, make_pixel: Make, alice: User) -> None:
    path = "/pixels"
    for _ in range(25):
        make_pixel(alice)
    answer = api.get(f"{path}?results_per_page=10&page=2")
    assert re.findall('rel="([a-z]+)"', answer.headers["Link"]) == ["next", "prev", "first", "last", "self"]
    long = {"results_per_page": 10, "page": 2, "x": "a" * 3400}
    answer = api.get(path, query_string=long, base_url=f"http://{'a.' * 126}example")
    assert re.findall('rel="([a-z]+)"', answer.headers["Link"]) == ["next", "prev"]
    assert len(answer.headers["Link"]) <= 8000
    for name in ("next", "prev"):
        assert f'<{answer.json["links"][name]}>; rel="{name}"' in answer.headers["Link"]


@pytest.mark.databases
@pytest.mark.parametrize(("stored", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_search_finds_composed_and_decomposed(
    api: Api, alice: User, make_link: Make, make_pixel: Make, make_handler: Make, make_project: Make, stored: str, asked: str
) -> None:  # fmt: skip
    name, search = unicodedata.normalize(stored, "Café Öl"), unicodedata.normalize(asked, "ÉFÉ ö"[1:])
    make_link(alice, title="something else")
    rows = {
        "/links": make_link(alice, title=name),
        "/pixels": make_pixel(alice, name=name),
        "/notification-handlers": make_handler(alice, name=name),
        "/projects": make_project(alice, name=name),
    }
    for path, row in rows.items():
        assert ids(api.get(path, query_string={"search": search})) == [row.id], path
        assert ids(api.get(path, query_string={"search": "cafe ol"})) == [], path
