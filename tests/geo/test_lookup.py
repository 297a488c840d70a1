"""Geolocation: locations are right in every layout, and visitors are redirected with any file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import maxminddb
import pytest

from app.geo import lookup
from app.geo import validate as geo_validate
from app.geo.lookup import UNKNOWN, GeoDatabase, Location, place_in, place_of_country
from app.geo.validate import Vetting
from tests.geo.geo_files import ADDRESS, LONDON, NETWORK, write_geo_file
from tests.server import wait_for

IN_LONDON = Location("EU", "GB", "London")

LAYOUTS: dict[str, tuple[Any, Location]] = {
    "MaxMind city": (LONDON, IN_LONDON),
    "MaxMind country": (
        {"continent": {"code": "NA"}, "country": {"iso_code": "US", "names": {"en": "United States"}}},
        Location("NA", "US"),
    ),
    "MaxMind, only a continent": ({"continent": {"code": "AF"}}, Location("AF")),
    "MaxMind, where somebody registered is no place": ({"registered_country": {"iso_code": "US"}}, UNKNOWN),
    "DB-IP Lite city": (
        {
            "city": {"names": {"en": "Berlin (Mitte)"}},
            "continent": {"code": "EU", "geoname_id": 6255148, "names": {"en": "Europe"}},
            "country": {"iso_code": "DE", "is_in_european_union": True, "names": {"en": "Germany"}},
            "subdivisions": [{"names": {"en": "Land Berlin"}}],
        },
        Location("EU", "DE", "Berlin"),
    ),
    "no English name": (
        {"country": {"iso_code": "DE"}, "city": {"names": {"de": "Köln"}}},
        Location("EU", "DE", "Köln"),
    ),
    "no continent": ({"country": {"iso_code": "BR"}}, Location("SA", "BR")),
    "IPinfo Lite": (
        {"country": "Germany", "country_code": "DE", "continent": "Europe", "continent_code": "EU"},
        Location("EU", "DE"),
    ),
    "IPinfo country": ({"country": "FR", "country_name": "France", "continent": "EU"}, Location("EU", "FR")),
    "IPinfo city": (
        {"city": "Mountain View", "country": "US", "region": "California"},
        Location("NA", "US", "Mountain View"),
    ),
    "flat, country_code only": ({"country_code": "jp"}, Location("AS", "JP")),
    "a country that nobody knows": ({"country": {"iso_code": "QQ"}}, Location("", "QQ")),
    "nothing known": ({}, UNKNOWN),
    "an empty name": ({"city": {"names": {}}}, UNKNOWN),
    "a list": ([1, 2], UNKNOWN),
    "a text": ("GB", UNKNOWN),
    "nothing": (None, UNKNOWN),
    "parts of the wrong kind": (
        {"country": 7, "continent": ["EU"], "city": {"names": "x"}, "country_code": {"a": 1}},
        UNKNOWN,
    ),
    "a code that is none": ({"country_code": "Germany", "continent": {"code": "XX"}}, UNKNOWN),
    "a name without end": ({"city": "x" * 999}, Location("", "", "x" * 128)),
}


@pytest.mark.parametrize(("record", "expected"), LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(record: Any, expected: Location) -> None:
    assert place_in(record) == expected


ADDRESSES = {
    "IPv4": (ADDRESS, IN_LONDON),
    "IPv4 in IPv6's clothes": (f"::ffff:{ADDRESS}", IN_LONDON),
    "IPv6": ("2001:0:1::1", Location("OC", "NZ")),
    "elsewhere": ("8.8.8.8", UNKNOWN),
    "elsewhere in IPv6": ("2a00::1", UNKNOWN),
    "empty": ("", UNKNOWN),
    "no address": ("somebody", UNKNOWN),
    "a socket's name": ("unix:", UNKNOWN),
    "with a zone": ("fe80::1%eth0", UNKNOWN),
    "half an address": ("::ffff:81.2", UNKNOWN),
    "with a NUL": ("81.2.69.1\0", UNKNOWN),
    "a lone surrogate": ("\udc80", UNKNOWN),
}


@pytest.mark.parametrize(("address", "expected"), ADDRESSES.values(), ids=ADDRESSES)
def test_addresses(address: str, expected: Location, tmp_path: Path) -> None:
    records: dict[str, Any] = {NETWORK: LONDON, "2001:0:1::/48": {"country": {"iso_code": "NZ"}}}
    places = GeoDatabase(write_geo_file(tmp_path / "geo.mmdb", records))
    assert places.find(address) == expected
    assert places.status.failed == 0


def test_ipv6_in_a_file_of_ipv4_is_unknown_and_no_damage(tmp_path: Path) -> None:
    places = GeoDatabase(write_geo_file(tmp_path / "geo.mmdb", version=4))
    assert places.find(ADDRESS) == IN_LONDON
    assert places.find("2001:0:1::1") == UNKNOWN
    assert places.status.state == "ok"


def test_without_a_file(tmp_path: Path) -> None:
    for places in (
        GeoDatabase(None),
        GeoDatabase(tmp_path / "geo.mmdb"),
        GeoDatabase(tmp_path / "no" / "folder"),
    ):
        assert places.find(ADDRESS) == UNKNOWN
        assert places.status.state == "missing"
        assert places.status.attribution is None
        assert places.status.age(dt.datetime.now(dt.UTC)) is None


def whole(tmp_path: Path) -> bytes:
    return write_geo_file(tmp_path / "whole.mmdb").read_bytes()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "a web page": lambda content: b"<!doctype html><title>Not found</title>" * 99,
    "cut off": lambda content: content[: len(content) // 2],
    "all zeros": lambda content: bytes(len(content)),
    "still packed": lambda content: b"\x1f\x8b" + bytes(999),
    "only the end": lambda content: content[content.index(b"\xab\xcd\xefMaxMind.com") :],
    "no end": lambda content: content.replace(b"MaxMind.com", b"MaxMind.org"),
    "a tree that leads out": lambda content: b"\xff" * 600 + content[600:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "geo.mmdb"
    path.write_bytes(damage(whole(tmp_path)))
    places = GeoDatabase(path)
    assert places.find(ADDRESS) == UNKNOWN
    assert places.status.state == "damaged"


def test_a_folder_in_its_place_is_no_file(tmp_path: Path) -> None:
    places = GeoDatabase(tmp_path)
    assert places.find(ADDRESS) == UNKNOWN
    assert places.status.state == "damaged"


@pytest.mark.parametrize(
    "problem", [KeyError("x"), maxminddb.InvalidDatabaseError("x"), MemoryError()], ids=repr
)
def test_damage_that_shows_at_a_look_up_is_counted(
    problem: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = GeoDatabase(write_geo_file(tmp_path / "geo.mmdb"))

    class Reader:
        def get(self, address: str) -> object:
            raise problem

    monkeypatch.setattr(places, "reader", Reader())
    assert places.find(ADDRESS) == UNKNOWN
    assert (places.status.state, places.status.failed) == ("damaged", 1)


def test_text_that_is_no_utf8_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "geo.mmdb"
    path.write_bytes(whole(tmp_path).replace(b"London", b"\xff\xfe\xff\xfe\xff\xfe"))
    places = GeoDatabase(path)
    assert places.find(ADDRESS) == UNKNOWN
    assert (places.status.state, places.status.failed) == ("damaged", 1)


def test_another_file_is_taken_without_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "geo.mmdb"
    places = GeoDatabase(path, seconds=0)
    assert places.find(ADDRESS) == UNKNOWN
    write_geo_file(path)
    assert places.find(ADDRESS) == IN_LONDON
    write_geo_file(path, {NETWORK: {"country": {"iso_code": "IE"}}})
    assert places.find(ADDRESS) == Location("EU", "IE")
    path.with_suffix(".bad").write_bytes(b"damage")
    path.with_suffix(".bad").replace(path)
    assert (places.find(ADDRESS), places.status.state) == (UNKNOWN, "damaged")
    write_geo_file(path)
    assert (places.find(ADDRESS), places.status.state) == (IN_LONDON, "ok")
    path.unlink()
    assert (places.find(ADDRESS), places.status.state) == (UNKNOWN, "missing")


def test_the_file_is_not_asked_about_at_each_look_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = GeoDatabase(write_geo_file(tmp_path / "geo.mmdb"), seconds=3600)
    asked: list[object] = []
    monkeypatch.setattr(lookup, "stamp_of", asked.append)
    assert {places.find(ADDRESS) for _ in range(1000)} == {IN_LONDON}
    assert asked == []


def test_threads_look_up_while_the_file_changes(tmp_path: Path) -> None:
    path = write_geo_file(tmp_path / "geo.mmdb")
    places = GeoDatabase(path, seconds=0)

    def look(_: int) -> set[Location]:
        return {places.find(ADDRESS) for _ in range(300)}

    with ThreadPoolExecutor(8) as pool:
        results = pool.map(look, range(16))
        for country in ("IE", "FR", "DE"):
            write_geo_file(path, {NETWORK: {"country": {"iso_code": country}}})
        seen = set().union(*results)
    assert seen <= {IN_LONDON, Location("EU", "IE"), Location("EU", "FR"), Location("EU", "DE")}
    assert places.find(ADDRESS) == Location("EU", "DE")
    assert places.status.failed == 0


ATTRIBUTIONS = {
    "DBIP-City-Lite": "https://db-ip.com",
    "DBIP-Country-Lite": "https://db-ip.com",
    "GeoLite2-City": "https://www.maxmind.com",
    "GeoIP2-City": None,
    "ipinfo lite_bundle": "https://ipinfo.io",
    "Somebody's": None,
}


@pytest.mark.parametrize(("kind", "url"), ATTRIBUTIONS.items())
def test_the_publisher_is_named(kind: str, url: str | None, tmp_path: Path) -> None:
    said = GeoDatabase(write_geo_file(tmp_path / "geo.mmdb", kind=kind)).status.attribution
    assert (said and said.url) == url


def test_the_age_of_the_file(tmp_path: Path) -> None:
    status = GeoDatabase(write_geo_file(tmp_path / "geo.mmdb")).status
    assert status.built is not None
    assert status.age(status.built + dt.timedelta(days=40)) == dt.timedelta(days=40)
    assert abs(dt.datetime.now(dt.UTC) - status.built) < dt.timedelta(minutes=5)


# --- countries

HEADERS = {
    "DE": Location("EU", "DE"),
    "us": Location("NA", "US"),
    " br ": Location("SA", "BR"),
    "AQ": Location("AN", "AQ"),
    "NG": Location("AF", "NG"),
    "JP": Location("AS", "JP"),
    "AU": Location("OC", "AU"),
    "XX": UNKNOWN,  # what a well-known proxy sends for unknown
    "T1": UNKNOWN,  # what the same proxy sends for Tor
    "": UNKNOWN,
    "Germany": UNKNOWN,
    "ＤＥ": UNKNOWN,
}


@pytest.mark.parametrize(("code", "expected"), HEADERS.items(), ids=map(repr, HEADERS))
def test_the_place_of_a_country(code: str, expected: Location) -> None:
    assert place_of_country(code) == expected


# --- validated before it is read


def vetted(path: Path, data_dir: Path) -> GeoDatabase:
    return GeoDatabase(path, seconds=0, vet=Vetting(path, data_dir), wait=60)


def when_looked_at(places: GeoDatabase, state: str) -> Location:
    wait_for(lambda: places.status.state == state, state)
    return places.find(ADDRESS)


def test_only_what_was_read_through_is_read(tmp_path: Path) -> None:
    """A damaged file is refused. Until the check has ended, the one before is used."""
    path = write_geo_file(tmp_path / "geo.mmdb")
    places = vetted(path, tmp_path)
    assert places.find(ADDRESS) == IN_LONDON
    content = path.read_bytes()
    path.write_bytes(b"")  # in place, as `cp` does: this file must not be the mapped one
    assert places.reader is not None
    assert places.reader.get(ADDRESS) is not None
    path.write_bytes(content[:-200])
    assert when_looked_at(places, "damaged") == UNKNOWN
    assert vetted(path, tmp_path).status.state == "damaged", "known by now: nobody looks again"
    path.write_bytes(content)
    assert when_looked_at(places, "ok") == IN_LONDON
    assert len(list((tmp_path / "places").glob("*.mmdb"))) == 1
    assert not list((tmp_path / "places").glob(".*"))
    path.unlink()
    assert when_looked_at(places, "missing") == UNKNOWN


def test_a_file_at_which_the_reader_crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geo_validate, "READ_THROUGH", "import os; os.abort()")
    places = vetted(write_geo_file(tmp_path / "geo.mmdb"), tmp_path)
    assert (places.find(ADDRESS), places.status.state) == (UNKNOWN, "damaged")
    verdict = next((tmp_path / "places").glob("*.bad"))
    assert verdict.read_text() == "the reader crashed"
