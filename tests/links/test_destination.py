"""Destinations: which are refused, and what find and replace makes of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.accounts.workspaces import access_of
from app.domains.models import Domain
from app.input.parsers import Rejected
from app.links.destination import (
    DestinationRules,
    is_own_short_address,
    names_alias,
    own_hosts,
    read_destination,
)
from app.links.models import Link
from app.links.replacement import Replacement

HTTP = frozenset({"http", "https"})
SETTINGS = SimpleNamespace(base_url="https://go.example", destination_schemes=HTTP)


def leads_in_a_circle(text, host="127.0.0.1:8000"):
    address = read_destination(text, SETTINGS)
    return is_own_short_address(address, own_hosts([address], SETTINGS, host))


OWN = {
    "BASE_URL": "https://go.example/foo",
    "BASE_URL by http": "http://go.example/foo",
    "capitals": "https://GO.Example/foo",
    "a final dot": "https://go.example./foo",
    "the request's host": "http://127.0.0.1:8000/foo",
    "the request's host as a number": "http://2130706433:8000/foo",
    "a fragment": "https://go.example/foo#x",
    "percent-encoded": "https://go.example/%66oo",
    "a dot segment, encoded": "https://go.example/x/%2e%2e/foo",
    "backslashes": "https://go.example/x\\..\\foo",
    "an encoded slash behind": "https://go.example/foo%2F",
    "two segments": "https://go.example/foo/bar",
    "an encoded slash inside": "https://go.example/foo%2Fbar",
    "two segments of a verified domain": "https://verified.example/blog/launch",
    "a verified domain, another port": "https://verified.example:8443/foo",
    "a verified domain with a port": "https://ported.example:8443/foo",
}


@pytest.fixture
def domains(session, bob):
    for host, is_verified in (
        ("verified.example", True),
        ("ported.example:8443", True),
        ("hopes.example", False),
    ):
        session.add(Domain(**access_of(bob).row_columns, host=host, is_verified=is_verified, token="t"))
    session.commit()


def test_a_possible_short_address_of_our_own(domains):
    for name, text in OWN.items():
        assert leads_in_a_circle(text), name


OTHER = {
    "another host": "https://example.com/foo",
    "another port": "http://127.0.0.1:9000/foo",
    "a host below": "https://www.go.example/foo",
    "a host with the same end": "https://notgo.example/foo",
    "our front page": "https://go.example/",
    "only a query": "https://go.example?foo",
    "the dashboard": "https://go.example/dashboard",
    "a file of ours": "https://go.example/media/x.png",
    "a segment that starts with a dot": "https://go.example/foo/.bar",
    "two slashes inside": "https://go.example/foo//bar",
    "no alias": "https://go.example/foo+",
    "no UTF-8": "https://go.example/%ff",
    "a domain not verified": "https://hopes.example/foo",
}


def test_not_a_short_address_of_our_own(domains):
    for name, text in OTHER.items():
        assert not leads_in_a_circle(text), name


def test_without_base_url_and_host_only_domains_are_our_own(domains):
    addresses = [
        read_destination(text, None) for text in ("https://go.example/foo", "https://verified.example/x")
    ]
    assert [is_own_short_address(one, own_hosts(addresses, None, None)) for one in addresses] == [False, True]


def test_a_host_header_that_names_no_host_is_no_error(session):
    assert not leads_in_a_circle("https://example.com/foo", host="???")


def test_schemes_are_a_setting():
    settings = SimpleNamespace(destination_schemes=HTTP | {"mailto"})
    assert read_destination("mailto:me@example.com", settings)
    with pytest.raises(Rejected):
        read_destination("mailto:me@example.com", SETTINGS)


def test_length():
    fits = "https://example.com/" + "a" * (8192 - 20)
    assert read_destination(fits, SETTINGS)
    with pytest.raises(Rejected):
        read_destination(fits + "a", SETTINGS)


@given(st.text(alphabet="abö./\\%2eF?#日_", max_size=12))
def test_every_path_is_judged(path):
    assert names_alias(f"/{path}") in {True, False}


RULES = DestinationRules(None, None)


@pytest.mark.parametrize(
    ("before", "find", "options", "after"),
    [
        pytest.param("https://a.example/x", "a.example", {}, "https://b.test/x", id="once"),
        pytest.param(
            "https://a.example/?u=a.example", "a.example", {}, "https://b.test/?u=b.test", id="each"
        ),
        pytest.param("https://A.Example/x", "a.example", {}, "https://A.Example/x", id="case counts"),
        pytest.param(
            "https://A.Example/x",
            "a.example",
            {"is_case_ignored": True},
            "https://b.test/x",
            id="ignoring case",
        ),
        pytest.param(
            "https://a.example/a.example",
            "a.example",
            {"is_host_only": True},
            "https://b.test/a.example",
            id="host",
        ),
        pytest.param(
            "https://a.example@a.example:81/?a.example",
            "a.example",
            {"is_host_only": True},
            "https://a.example@b.test:81/?a.example",
            id="host, not the user before it",
        ),
        pytest.param(
            "https://a.example:81/", ":81", {"is_host_only": True}, "https://a.exampleb.test/", id="port"
        ),
        pytest.param("mailto:me@a.example", "a", {"is_host_only": True}, "mailto:me@a.example", id="no host"),
        pytest.param("https://a.example/.*", ".*", {}, "https://a.example/b.test", id="no pattern"),
        pytest.param("https://a.example/\\1", "\\1", {}, "https://a.example/b.test", id="no group"),
        pytest.param("https://a.example/", "elsewhere", {}, "https://a.example/", id="not there"),
    ],
)
def test_text_is_replaced(before: str, find: str, options: dict[str, Any], after: str) -> None:
    replacement = Replacement(find, "b.test", RULES, **options)
    assert replacement.apply(before) == after
    assert "".join(piece.text for piece in replacement.pieces(before, is_after=False)) == before
    assert "".join(piece.text for piece in replacement.pieces(before, is_after=True)) == after


def test_what_is_replaced_is_told_apart() -> None:
    pieces = list(Replacement("old", "new", RULES).pieces("https://old.example/old", is_after=True))
    assert [(one.text, one.is_changed) for one in pieces if one.text] == [
        ("https://", False),
        ("new", True),
        (".example/", False),
        ("new", True),
    ]


def test_what_is_put_there_is_no_template() -> None:
    assert Replacement("a", "\\g<0>{x}", RULES).apply("https://a.test") == "https://\\g<0>{x}.test"


LINK = {
    "location_url": "https://old.example/",
    "expiration_url": "https://old.example/over",
    "targeting_type": "country_code",
    "targeting": [["DE", "https://old.example/de"], ["FR", "https://fr.example/"]],
}


@pytest.mark.parametrize(
    ("places", "changes"),
    [
        (("location_url",), {"location_url": "https://new.example/"}),
        (("expiration_url",), {"expiration_url": "https://new.example/over"}),
        (("targeting",), {"targeting": [["DE", "https://new.example/de"], ["FR", "https://fr.example/"]]}),
    ],
)
def test_only_where_it_was_asked_for(places: tuple[str, ...], changes: dict[str, Any], app: Any) -> None:
    with app.app_context():
        assert Replacement("old.", "new.", RULES, places).changes_of(Link(**LINK)) == changes


@pytest.mark.parametrize(
    ("find", "replace", "problem"),
    [
        pytest.param("https://", "javascript:", "This must be an address that begins with", id="scheme"),
        pytest.param("old.example", "", "This address has no host", id="no host"),
        pytest.param("old.example", "a b", "An address can't contain white space.", id="white space"),
        pytest.param("e", "e" * 5000, "This may have at most 8,192 characters; it has ", id="too long"),
        pytest.param("old.example/", "go.example/abc", "This is a short link of this instance.", id="own"),
    ],
)
def test_results_that_are_wrong(find: str, replace: str, problem: str, app: Any) -> None:
    with app.app_context():
        rules = DestinationRules(None, "go.example")
        (one,) = Replacement(find, replace, rules, ("location_url",)).replaced(Link(**LINK))
        assert one.problem
        assert str(one.problem.title).startswith(problem)


def test_what_does_not_change_is_not_checked_again(app: Any) -> None:
    """A stored destination may be from a time with other rules."""
    stored = Link(location_url="ftp://old.example/", expiration_url="https://old.example/")
    with app.app_context():
        changes = Replacement("https://old", "https://new", RULES).changes_of(stored)
    assert changes == {"expiration_url": "https://new.example/"}
