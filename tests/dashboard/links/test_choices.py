"""Notes on geolocation in the link form: missing or damaged database, and the credit for its data."""

from __future__ import annotations

import html

import pytest
from flask import Flask

from tests.dashboard.conftest import Desk
from tests.geo.geo_files import write_geo_file

NOWHERE = "does not know where visitors are"
NO_CITIES = "but not their cities"
DAMAGED = "geolocation database is damaged"
THANKS = "GeoLite Data created by MaxMind"


def notes(desk: Desk) -> dict[str, int]:
    page = html.unescape(desk.get("/links/new").text)
    return {text: page.count(text) for text in (NOWHERE, NO_CITIES, DAMAGED, THANKS) if text in page}


def test_without_a_database_no_line_by_place_fits(desk: Desk) -> None:
    assert notes(desk) == {NOWHERE: 3}


@pytest.mark.settings(GEO_COUNTRY_HEADER="X-Country")
def test_a_header_tells_the_country_and_so_the_continent(desk: Desk) -> None:
    assert notes(desk) == {NO_CITIES: 1}


def test_a_database_tells_all_and_its_source_is_named(app: Flask, desk: Desk) -> None:
    write_geo_file(app.config["WAYPOST"].data_dir / "geo.mmdb")
    assert notes(desk) == {THANKS: 3}


def test_a_damaged_database_tells_nothing(app: Flask, desk: Desk) -> None:
    (app.config["WAYPOST"].data_dir / "geo.mmdb").write_bytes(b"no places")
    assert notes(desk) == {DAMAGED: 3}


@pytest.mark.settings(GEOIP_DB="/nothing/here.mmdb")
def test_a_database_that_is_named_and_not_there(desk: Desk) -> None:
    assert notes(desk) == {NOWHERE: 3}
