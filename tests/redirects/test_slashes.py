"""Aliases with slashes: redirects, visitors' pages, cookies and hosts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask

from app.accounts.models import User
from app.accounts.passwords import hash_password
from app.input.parsers import Rejected
from app.journal.codec import Visit
from app.links.aliases import read_alias
from app.links.models import Link
from app.redirects.wsgi import Front
from app.web.paths import alias_key, is_ours
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


# --- hosts


# --- what owners see
