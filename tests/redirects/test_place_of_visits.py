"""Geolocation of visits: by address and trusted headers, and with a missing or damaged database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.accounts.models import User
from app.geo.lookup import FILE_NAME
from app.journal.codec import Visit
from app.redirects.context import RedirectContext
from tests.factories import Factory
from tests.geo.geo_files import ADDRESS, NETWORK, write_geo_file
from tests.redirects.conftest import Person
from tests.server import wait_for

Visits = Callable[[], list[Visit]]
ELSEWHERE = "203.0.113.7"
HOME, BRITAIN = "https://example.com/home", "https://example.com/gb"
PAIRS = [["GB", BRITAIN]]


@pytest.fixture
def geo_file(data_dir: Path) -> Path:
    return write_geo_file(data_dir / FILE_NAME)


@pytest.fixture(autouse=True)
def link(factory: Factory, owner: User) -> None:
    factory.link(owner, "a", location_url=HOME, targeting_type="country_code", targeting=PAIRS)


def went(person: Person, address: str, **headers: str) -> str | None:
    answer = person.open(
        "/a",
        environ_base={"REMOTE_ADDR": address},
        headers={k.replace("_", "-"): v for k, v in headers.items()},
    )
    assert answer.status_code == 302
    return answer.headers["Location"]


def places(visits: Visits) -> list[tuple[str, str, str]]:
    return [(visit.continent_code, visit.country_code, visit.city_name) for visit in visits()]


@pytest.mark.databases
def test_by_address(geo_file: Path, person: Person, visits: Visits) -> None:
    assert went(person, ADDRESS) == BRITAIN
    assert went(person, ELSEWHERE) == HOME
    assert places(visits) == [("EU", "GB", "London"), ("", "", "")]
    assert [visit.destination for visit in visits()] == [BRITAIN, HOME]


@pytest.mark.settings(GEO_COUNTRY_HEADER="CF-IPCountry")
def test_the_header_that_the_operator_named(person: Person, visits: Visits) -> None:
    assert went(person, ELSEWHERE, CF_IPCountry="gb") == BRITAIN
    for nowhere in ("XX", "T1", "", "Great Britain", "\u00e9\u00e9"):
        assert went(person, ELSEWHERE, CF_IPCountry=nowhere) == HOME
    assert places(visits) == [("EU", "GB", ""), *[("", "", "")] * 5]


@pytest.mark.settings(GEO_COUNTRY_HEADER="CF-IPCountry")
def test_header_and_file(geo_file: Path, person: Person, visits: Visits) -> None:
    """The header's country counts; the database adds the city if it agrees on the country."""
    for country in ("GB", "FR", "XX"):
        went(person, ADDRESS, CF_IPCountry=country)
    assert places(visits) == [("EU", "GB", "London"), ("EU", "FR", ""), ("EU", "GB", "London")]


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "missing": lambda _: b"",
    "empty": lambda _: b"",
    "no such file": lambda _: b"<html>",
    "cut off": cut,
    "a tree that leads out": lambda content: b"\xff" * 600 + content[600:],
    "a text that is none": lambda content: content.replace(b"London", b"\xff\xfe\xff\xfe\xff\xfe"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_no_file_ever_breaks_a_visit(name: str, geo_file: Path, person: Person, visits: Visits) -> None:
    content = DAMAGES[name](geo_file.read_bytes())
    geo_file.unlink()
    if name != "missing":
        geo_file.write_bytes(content)
    assert went(person, ADDRESS) == HOME
    assert places(visits) == [("", "", "")]


def test_a_file_that_breaks_and_mends_while_it_is_used(
    geo_file: Path, person: Person, redirect_context: RedirectContext
) -> None:
    redirect_context.geolocation.seconds = 0
    assert went(person, ADDRESS) == BRITAIN
    geo_file.with_suffix(".bad").write_bytes(b"damage")
    geo_file.with_suffix(".bad").replace(geo_file)
    redirect_context.geolocation.due = 0
    wait_for(lambda: went(person, ADDRESS) == HOME, "the end of the damaged file")
    geo_file.unlink()
    assert went(person, ADDRESS) == HOME
    write_geo_file(geo_file)
    wait_for(lambda: went(person, ADDRESS) == BRITAIN, "the mended file")


def test_the_file_that_the_setting_names(
    geo_file: Path, tmp_path: Path, redirect_context: RedirectContext
) -> None:
    named = write_geo_file(tmp_path / "named.mmdb", {NETWORK: {"country": {"iso_code": "IE"}}})
    visitors = {
        name: RedirectContext(replace(redirect_context.settings, geoip_db=name)).visitor(
            {"REMOTE_ADDR": ADDRESS}
        )
        for name in (None, named)
    }
    assert {name: visitor.country_code for name, visitor in visitors.items()} == {None: "GB", named: "IE"}
