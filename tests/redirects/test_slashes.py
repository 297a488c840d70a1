"""Aliases with slashes: redirects, visitors' pages, cookies and hosts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from app.accounts.models import User
from app.accounts.passwords import hash_password
from app.input.parsers import Rejected
from app.journal.codec import Visit
from app.links.aliases import read_alias
from app.links.models import Link
from app.redirects.context import RedirectContext
from app.redirects.wsgi import Front
from app.web.paths import alias_key, is_ours
from tests.clients import Api
from tests.factories import Factory
from tests.redirects.conftest import Person
from tests.redirects.test_gates import Guest, read_cookie

Visits = Callable[[], list[Visit]]
THERE = "https://example.com/there"


@pytest.fixture
def link(factory: Factory, owner: User) -> Callable[..., Link]:
    """`link("blog/launch")`: a link to THERE."""
    return lambda url, **columns: factory.link(owner, url, **{"location_url": THERE, **columns})


@pytest.fixture(scope="module")
def password_hash() -> str:
    return hash_password("open sesame")


@pytest.mark.databases
def test_each_of_those_that_begin_alike_is_a_link_of_its_own(
    person: Person, link: Callable[..., Link], visits: Visits
) -> None:
    made = [link(url, location_url=f"{THERE}/{url}") for url in ("blog", "blog/launch", "blog/launch/2026")]
    for _ in range(2):  # from the database, and from memory
        for one in made:
            assert person.open(f"/{one.url}").headers["Location"] == f"{THERE}/{one.url}"
    assert [visit.link_id for visit in visits()] == [one.id for one in made] * 2


def test_a_link_below_another_needs_none_above(person: Person, link: Callable[..., Link]) -> None:
    link("blog/launch")
    assert person.open("/blog").status_code == 404
    assert person.open("/blog/").status_code == 404
    assert person.open("/blog/launch").status_code == 302


SPELLINGS = {
    "as it is": ("Blog/Launch", "/Blog/Launch"),
    "case": ("Blog/Launch", "/bLOG/lAUNCH"),
    "a slash behind": ("blog/launch", "/blog/launch/"),
    "an encoded slash": ("blog/launch", "/blog%2Flaunch"),
    "an encoded slash, small": ("blog/launch", "/blog%2flaunch"),
    "encoded slashes, one behind": ("a/b/c", "/a%2Fb%2Fc%2F"),
    "NFD": ("é/é", "/e\u0301/e\u0301"),
    "emoji": ("go/👩‍🚀", "/go/👩‍🚀"),
}


@pytest.mark.parametrize(("alias", "path"), SPELLINGS.values(), ids=SPELLINGS)
def test_spellings(alias: str, path: str, person: Person, front: Front, link: Callable[..., Link]) -> None:
    link(alias)
    assert person.open(path).headers["Location"] == THERE
    assert person.open(path).headers["Location"] == THERE
    assert front.compiled_links.find_cached("localhost", f"/{alias}".encode().decode("latin-1")) is not None


NOWHERE = ["/blog//launch", "/blog/launch//", "//blog/launch", "/blog/launch/x", "/blog/la", "/blog/.launch", "/launch",
           "/blog/launch\n", "/blog\x00/launch", "/blog/./launch", "/" + "x/" * 800]  # fmt: skip


@pytest.mark.parametrize("path", NOWHERE)
@pytest.mark.databases
def test_nothing_there(path: str, person: Person, link: Callable[..., Link], visits: Visits) -> None:
    from tests.redirects.test_wsgi import raw_environ

    link("blog/launch")
    for method in ("GET", "HEAD", "POST"):
        assert person.raw({**raw_environ(path), "REQUEST_METHOD": method}).status_code == 404
    assert visits() == []


KEYS = {
    "/a": "a", "/a/": "a", "/a/b": "a/b", "/A/B/": "a/b", "/a/b/c": "a/b/c",
    "/": None, "": None, "//": None, "/a//": None, "//a": None, "/a//b": None, "///": None,
}  # fmt: skip


@pytest.mark.parametrize("path", KEYS)
def test_the_key_of_a_path(path: str) -> None:
    assert alias_key(path) == KEYS[path]


def test_no_route_of_ours_is_a_links(app: Flask, person: Person, link: Callable[..., Link]) -> None:
    """Whatever follows the first segment, even if such a link existed."""
    found = {
        words[1]
        for rule in app.url_map.iter_rules()
        if (words := rule.rule.split("/"))[1] and "<alias" not in words[1]
    }
    assert {"dashboard", "api", "login", "static", "media", "healthz", "robots.txt"} <= found
    for word in [*sorted(found), ".well-known"]:
        assert is_ours(f"/{word}/x")
        for alias in (f"{word}/x", f"{word.upper()}/x"):
            with pytest.raises(Rejected):
                read_alias(alias)
        link(f"{word}/planted")
        for path in (f"/{word}/planted", f"/{word}%2Fplanted", f"/{word}/planted/"):
            assert person.open(path).headers.get("Location") != THERE


def test_a_reserved_word_further_on_is_a_links(person: Person, link: Callable[..., Link]) -> None:
    for alias in ("x/login", "x/api/links", "x/robots.txt", "logins/x", "apix/y"):
        link(read_alias(alias))
        assert person.open(f"/{alias}").headers["Location"] == THERE


# --- pages


def test_a_password_at_each_of_two(front: Front, link: Callable[..., Link], password_hash: str) -> None:
    """A browser sends the upper link's cookie to the lower one, too; each cookie unlocks only its own."""
    guest = Guest(front)
    for alias in ("blog", "blog/launch"):
        link(alias, password_hash=password_hash, password_version=1)
    assert guest.give("/blog", "open sesame").status_code == 303
    assert guest.open("/blog").headers["Location"] == THERE
    assert guest.open("/blog/launch").status_code == 200
    answer = guest.give("/blog/launch?a=1", "open sesame")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/blog/launch?a=1")
    (_, attributes) = read_cookie(answer.headers["Set-Cookie"])
    assert attributes["Path"] == "/blog/launch"
    assert guest.open("/blog/launch").headers["Location"] == THERE
    assert guest.open("/blog").headers["Location"] == THERE
    assert {path for _, path in guest.cookies} == {"/blog", "/blog/launch"}


@pytest.mark.parametrize("path", ["/Blog/Launch/", "/blog/launch", "/BLOG/launch/"])
def test_another_spelling_of_a_gate_is_redirected(
    path: str, person: Person, link: Callable[..., Link]
) -> None:
    link("Blog/Launch", sensitive_content=True)
    answer = person.open(f"{path}?q=%41")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/Blog/Launch?q=%41")


def test_a_gate_under_an_encoded_slash_leads_to_the_links_own_spelling(
    front: Front, link: Callable[..., Link]
) -> None:
    link("blog/launch", sensitive_content=True)
    guest = Guest(front)
    assert guest.open("/blog%2Flaunch").status_code == 200
    answer = guest.give("/blog%2Flaunch", None)
    assert answer.headers["Location"] == "/blog/launch"
    assert guest.open("/blog/launch").headers["Location"] == THERE


def test_where_it_leads(person: Person, link: Callable[..., Link]) -> None:
    link("blog/launch")
    page = person.open("/blog/launch+")
    assert page.status_code == 200
    assert 'href="/blog/launch"' in page.text
    assert person.open("/blog+").status_code == 404


def test_a_card_names_the_address(person: Person, link: Callable[..., Link]) -> None:
    link("blog/é", cloaking_is_enabled=True, cloaking_title="Launch")
    page = person.open("/blog/%C3%A9")
    assert '<meta property="og:url" content="http://localhost/blog/%C3%A9">' in page.text


def test_pages_with_a_box(person: Person, factory: Factory, owner: User, link: Callable[..., Link]) -> None:
    made = link("blog/launch")
    made.pixels = [factory.pixel(owner, "social_a", pixel="1")]
    factory.session.commit()
    page = person.open("/blog/launch?a=1")
    [address] = re.findall(r'class="box" src="(\?[^"]*)"', page.text)
    assert "fbq" in person.open(f"/blog/launch{address.replace('&amp;', '&')}").text


def test_other_methods(person: Person, link: Callable[..., Link]) -> None:
    link("a/b"), link("a/c", http_status_code=307)
    answer = person.open("/a/b", method="PUT")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert person.open("/a/c", method="PUT").status_code == 307


# --- hosts


def test_on_a_domain(person: Person, factory: Factory, owner: User, link: Callable[..., Link]) -> None:
    domain = factory.domain(
        owner, "go.example", custom_index_url=f"{THERE}/index", custom_not_found_url=f"{THERE}/none"
    )
    link("blog/launch", domain_id=domain.id)
    assert person.open("/blog/launch", host="go.example").headers["Location"] == THERE
    assert person.open("/blog/launch").status_code == 404
    assert person.open("/", host="go.example").headers["Location"] == f"{THERE}/index"
    assert person.open("/blog/other", host="go.example").headers["Location"] == f"{THERE}/none"
    assert person.open("/dashboard/links", host="go.example").status_code == 404


# --- what owners see


def test_its_address_is_the_same_everywhere(api: Api, desk: RedirectContext) -> None:
    answer = api.post("/links", {"location_url": THERE, "url": "Blog/É~x"})
    assert answer.status_code == 201
    number = answer.json["data"]["id"]
    data = api.get(f"/links/{number}").json["data"]
    assert (data["url"], data["short_url"]) == ("Blog/É~x", "http://localhost/Blog/%C3%89~x")
    assert [one["id"] for one in api.get("/links?search=blog/é&search_by=url").json["data"]] == [number]
    assert api.get("/links?search=blog_é").json["data"] == []
    assert api.get(f"/links/{number}/qr?format=svg").status_code == 200
    assert api.get(f"/links/{number}/explain").json["data"]["outcome"] == "redirect"
    assert api.get(f"/statistics/{number}").status_code == 200
    taken = api.post("/links", {"location_url": THERE, "url": "blog/é~X"})
    assert taken.status_code == 409
    moved = api.post(f"/links/{number}", {"url": "blog"})
    assert moved.status_code == 200
    assert api.get(f"/links/{number}").json["data"]["short_url"] == "http://localhost/blog"


def test_a_change_of_one_drops_that_one_alone(
    person: Person, front: Front, link: Callable[..., Link], change: Callable[..., None]
) -> None:
    upper, lower = link("blog"), link("blog/launch")
    plans = [front.compiled_links.find("localhost", f"/{one.url}") for one in (upper, lower)]
    change(upper, location_url=f"{THERE}/new")
    front.compiled_links.poll()
    assert [plan.is_gone for plan in plans if plan] == [True, False]
    change(lower, is_enabled=False)
    front.compiled_links.poll()
    assert person.open("/blog").headers["Location"] == f"{THERE}/new"
    assert person.open("/blog/launch").status_code == 404


def test_the_shelf_keeps_each_apart(front: Front) -> None:
    shelf = front.compiled_links.row_cache
    row: dict[str, Any] = {"workspace_id": 1, "http_status_code": 302, "password_version": 0}
    for number, alias in enumerate(("blog", "blog/launch", "0/blog"), start=1):
        shelf.put(
            alias, {**row, "domain_id": 0, "id": number, "url": alias, "location_url": f"{THERE}/{number}"}
        )
    shelf.remove(0, "blog")
    assert shelf.get(0, "blog") is None
    assert [(found or {})["id"] for found in (shelf.get(0, "blog/launch"), shelf.get(0, "0/blog"))] == [2, 3]
    shelf.drop(0)
    assert shelf.get(0, "blog/launch") is None
