"""Destinations: short links of this instance, other schemes and overlong URLs are refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.accounts.workspaces import access_of
from app.domains.models import Domain
from app.input.parsers import Rejected
from app.links.destination import is_own_short_address, names_alias, own_hosts, read_destination

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
