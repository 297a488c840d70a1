"""Targeting types: which keys each takes, and names of languages that people type for them."""

from __future__ import annotations

import pytest

from app.input.parsers import Rejected
from app.links.language_names import LANGUAGES, find_language
from app.links.targeting import TYPES
from app.redirects.simulation.visitor import SimulatedVisitor, VisitorProfile
from app.redirects.targets import compiled_targets

GOOD = [
    ("continent_code", "na", "NA"),
    ("country_code", "gb", "GB"),
    ("city_name", "Berlin", "Berlin"),
    ("city_name", "Portland, us", "Portland, US"),
    ("city_name", "São Paulo", "São Paulo"),
    ("city_name", "Washington, D.C.", "Washington, D.C."),
    ("device_type", "Mobile", "mobile"),
    ("browser_language", "PT-br", "pt-BR"),
    ("browser_language", "zh-hant-tw", "zh-Hant-TW"),
    ("browser_language", "es-419", "es-419"),
    ("browser_language", "sl-rozaj-biske-1994", "sl-rozaj-biske-1994"),
    ("browser_language", "de-DE-u-CO-phonebk", "de-DE-u-co-phonebk"),
    ("browser_language", "en-x-US", "en-x-us"),
    ("os_name", "WINDOWS", "Windows"),
    ("os_name", "chrome os", "Chrome OS"),
    ("os_name", "Fedora", "Fedora"),
    ("browser_name", "samsung internet", "Samsung Internet"),
    ("browser_name", "Vivaldi", "Vivaldi"),
    ("rotation", "100", "100"),
    ("rotation", "050", "50"),
]


@pytest.mark.parametrize(("type_", "key", "stored"), GOOD)
def test_key(type_, key, stored):
    assert TYPES[type_].read(key) == stored
    assert TYPES[type_].read(stored) == stored


BAD = [
    *[("continent_code", key) for key in ("XX", "Europe", "E", "EUR", " EU")],
    *[("country_code", key) for key in ("XX", "UK", "DEU", "D", "Germany", "de ", "ＤＥ", "ß")],
    *[("device_type", key) for key in ("phone", "desktops", "mobile\n")],
    *[
        ("browser_language", key)
        for key in ("english", "xx", "de_DE", "d", "de-", "-de", "de--AT", "*", "de;q=1", "ｄｅ")
    ],
    *[("rotation", key) for key in ("0", "101", "-1", "1.0", "50%", "١", "")],
    *[(type_, "a\x00b") for type_ in ("city_name", "os_name", "browser_name")],
    *[(type_, "x" * 129) for type_ in ("city_name", "os_name", "browser_name")],
]


@pytest.mark.parametrize(("type_", "key"), BAD)
def test_no_key(type_, key):
    with pytest.raises(Rejected):
        TYPES[type_].read(key)


@pytest.mark.parametrize("type_", TYPES)
def test_a_visitor_who_is_simulated_for_a_key_matches_it(type_):
    stored = next(stored for name, _, stored in GOOD if name == type_)
    one = TYPES[type_]
    pairs = [[stored, "https://example.com/"]]
    targets = compiled_targets(type_, pairs)
    visitor = SimulatedVisitor(VisitorProfile(**one.simulate(stored)))
    assert targets.choose(visitor, 1, 1).destination == "https://example.com/"


@pytest.mark.parametrize(
    ("typed", "tag"),
    {
        "English": ("German", "de"),
        "itself": ("Deutsch", "de"),
        "other letters": ("日本語", "ja"),
        "case and accents": ("FRANCAIS", "fr"),
        "another language": ("espagnol", "es"),
        "as suggested": ("Portuguese (Brazil)", "pt-BR"),
        "as people say": ("Brazilian Portuguese", "pt-BR"),
        "with a region": ("Deutsch (Österreich)", "de-AT"),
        "with any region": ("English (Ireland)", "en-IE"),
        "as browsers send": ("Simplified Chinese", "zh-CN"),
        "the usual one of two": ("Norwegian", "nb"),
        "a tag": ("ga", None),
        "a longer tag": ("pt-BR", None),
        "no language": ("Elvish", None),
        "no region": ("German (Atlantis)", None),
        "nothing": ("", None),
    }.values(),
)
def test_names(typed: str, tag: str | None) -> None:
    assert find_language(typed) == tag


def test_every_suggestion_is_read() -> None:
    assert {tag: find_language(str(name)) for tag, name in LANGUAGES.items()} == {
        tag: tag for tag in LANGUAGES
    }
