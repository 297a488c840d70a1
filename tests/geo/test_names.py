"""Names of countries and continents: what people type, and what pages show, in each language."""

from __future__ import annotations

import pytest
from flask import Flask
from flask_babel import force_locale

from app.geo.names import (
    CONTINENT_NAMES,
    CONTINENT_OF,
    CONTINENTS,
    COUNTRIES,
    COUNTRY_NAMES,
    PLACES,
    NamesByCode,
    all_names,
    find_city,
    find_continent,
    find_country,
    spellings,
)
from app.i18n.languages import every_language

TYPED = {
    "DE": ["DE", "de", "Germany", "GERMANY", "Deutschland", "Allemagne", "Alemania", "deu", " Germany "],
    "GB": ["UK", "uk", "Great Britain", "England", "Großbritannien", "Grossbritannien", "Royaume-Uni"],
    "US": [
        "USA",
        "U.S.A.",
        "United States of America",
        "Vereinigte Staaten",
        "États-Unis",
        "EE. UU.",
        "EEUU",
    ],
    "NL": ["Holland", "The Netherlands", "Niederlande", "Pays-Bas"],
    "CZ": ["Czech Republic", "Czechia", "Tschechien", "République tchèque", "Republica Checa"],
    "CI": ["Ivory Coast", "Côte d'Ivoire", "Cote d’Ivoire", "Elfenbeinküste", "Costa de Marfil"],
    "MM": ["Burma", "Myanmar", "Birma", "Birmanie"],
    "TR": ["Turkey", "Türkiye", "Turkiye", "turkei", "Türkei", "Tuerkei", "Turquie"],
    "KR": ["South Korea", "Korea (South)", "Südkorea", "Suedkorea", "Republic of Korea", "Korea"],
    "KP": ["North Korea", "DPRK", "Nordkorea"],
    "AT": ["Österreich", "Oesterreich", "osterreich", "Austria"],
    "LC": ["Saint Lucia", "St. Lucia", "St Lucia"],
    "TT": ["Trinidad & Tobago", "Trinidad and Tobago", "Trinidad und Tobago"],
    "AX": ["Åland", "aland islands"],
    "RE": ["Reunion", "La Réunion"],
}


@pytest.mark.parametrize("code", TYPED)
def test_a_country_by_any_usual_name_in_any_language(code: str, app: Flask) -> None:
    with app.test_request_context():
        for tag in ("en", "de", "fr", "es"):
            with force_locale(tag):
                assert {name: find_country(name) for name in TYPED[code]} == dict.fromkeys(TYPED[code], code)


def test_every_name_that_is_shown_is_read(app: Flask) -> None:
    with app.test_request_context():
        for tag in every_language():
            with force_locale(tag):
                assert {name: find_country(name) for name in COUNTRY_NAMES.values()} == {
                    name: code for code, name in COUNTRY_NAMES.items()
                }


def test_other_words_are_no_country() -> None:
    assert [find_country(text) for text in ("", " ", "the", "Atlantis", "XK", "D", "Germany!x")] == [None] * 7


@pytest.mark.parametrize(
    ("names", "kind"),
    [(COUNTRY_NAMES, "countries"), (CONTINENT_NAMES, "continents")],
    ids=["countries", "continents"],
)
def test_no_two_codes_have_one_name(names: NamesByCode, kind: str) -> None:
    others = PLACES["other_names"][kind]
    assert others.keys() <= names.codes
    found: dict[str, set[str]] = {}
    for code, name in all_names(names, others, ()):
        for spelling in spellings(name):
            found.setdefault(spelling, set()).add(code)
    assert {spelling: codes for spelling, codes in found.items() if len(codes) > 1} == {}


def test_every_country_has_one_continent() -> None:
    lines = PLACES["countries_of"].values()
    assert (len(CONTINENTS), len(COUNTRIES)) == (7, 249)
    assert sum(len(codes.split()) for codes in lines) == len(CONTINENT_OF)
    assert all(len(code) == 2 and code.isascii() and code.isupper() for code in COUNTRIES)


@pytest.mark.parametrize(
    ("tag", "shown", "first"),
    [
        ("en", "Germany", "Afghanistan"),
        ("de", "Deutschland", "Afghanistan"),
        ("fr", "Allemagne", "Afghanistan"),
    ],
)
def test_names_are_shown_in_the_readers_language_and_order(
    tag: str, shown: str, first: str, app: Flask
) -> None:
    with app.test_request_context(), force_locale(tag):
        assert COUNTRY_NAMES["DE"] == shown
        names = list(COUNTRY_NAMES.values())
        assert (names[0], len(names)) == (first, len(COUNTRIES))
        assert names.index(COUNTRY_NAMES["AX"]) < len(names) // 4 or tag == "fr"  # Å is with A, not after Z


@pytest.mark.parametrize(
    ("typed", "code"),
    [("EU", "EU"), ("europa", "EU"), ("Amérique du Nord", "NA"), ("Südamerika", "SA"), ("Mars", None)],
)
def test_continents(typed: str, code: str | None, app: Flask) -> None:
    assert find_continent(typed) == code
    with app.test_request_context(), force_locale("es"):
        assert CONTINENT_NAMES["OC"] == "Oceanía"


@pytest.mark.parametrize(
    ("typed", "read"),
    {
        "code": ("Portland, US", "Portland, US"),
        "name": ("Portland, USA", "Portland, US"),
        "in another language": (" Berlin ,Deutschland", "Berlin, DE"),
        "alone": (" Berlin ", "Berlin"),
        "no country": ("Washington, D.C.", "Washington, D.C."),
        "no city": (", Germany", ", Germany"),
    }.values(),
)
def test_cities(typed: str, read: str) -> None:
    assert find_city(typed) == read
