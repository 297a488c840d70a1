"""Codes of countries and continents, their names in the reader's language, and the codes for typed names."""

# see docs/decisions/2026-11-24-names-for-codes.md
from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from babel import Locale
from babel.core import get_global

from app.i18n import language
from app.i18n.languages import DEFAULT, every_language, locale_of

PLACES = tomllib.loads((Path(__file__).parent / "places.toml").read_text("utf-8"))
CONTINENTS = tuple(PLACES["countries_of"])
CONTINENT_OF = {code: one for one, codes in PLACES["countries_of"].items() for code in codes.split()}
# Those of ISO 3166-1, which has no code for Kosovo.
COUNTRIES = tuple(sorted(CONTINENT_OF.keys() - {"XK"}))
# words that people write or leave out
SMALL_WORDS = frozenset(
    [
        *("and", "d", "das", "de", "del", "der", "des", "die", "du", "el", "et", "la", "las", "le", "les"),
        *("los", "of", "the", "und", "y"),
    ]
)
SHORT_FOR = {"saint": "st", "sankt": "st", "sainte": "st", "san": "st", "santa": "st"}
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def fold(text: str) -> str:
    """The text as names are compared: without accents, case, punctuation and small words."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(
        c if c.isalnum() else " " for c in plain if not unicodedata.combining(c) and c not in "’'."
    )
    words = [SHORT_FOR.get(word, word) for word in letters.split()]
    return " ".join([word for word in words if word not in SMALL_WORDS] or words)


def spellings(name: str) -> Iterator[str]:
    """A name as it is compared, also with `ae` for `ä` (`Oesterreich`)."""
    yield fold(name)
    yield fold(unicodedata.normalize("NFC", name).casefold().translate(UMLAUTS))


class NamesByCode(Mapping[str, str]):
    """CLDR's names of codes in the reader's language, in the order of the names."""

    def __init__(self, codes: Iterable[str], name_of: Callable[[Locale, str], str]) -> None:
        self.codes, self.name_of = frozenset(codes), name_of
        self.tables: dict[str, dict[str, str]] = {}

    def __getitem__(self, code: str) -> str:
        return self.in_language(language())[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self.in_language(language()))

    def __len__(self) -> int:
        return len(self.codes)

    def in_language(self, tag: str) -> dict[str, str]:
        if tag not in self.tables:
            named = ((code, self.name_of(locale_of(tag), code)) for code in self.codes)
            self.tables[tag] = dict(sorted(named, key=lambda one: fold(one[1])))
        return self.tables[tag]


COUNTRY_NAMES = NamesByCode(COUNTRIES, lambda locale, code: str(locale.territories[code]))
CONTINENT_NAMES = NamesByCode(
    CONTINENTS, lambda locale, code: str(locale.territories[PLACES["continent_numbers"][code]])
)


@cache
def country_codes(tag: str) -> dict[str, str]:
    """The code for each name of a country as it is compared; where languages differ, the reader's decides."""
    return three_letters() | codes_by_spelling(COUNTRY_NAMES, PLACES["other_names"]["countries"], tag)


@cache
def continent_codes(tag: str) -> dict[str, str]:
    return codes_by_spelling(CONTINENT_NAMES, PLACES["other_names"]["continents"], tag)


def codes_by_spelling(names: NamesByCode, others: Mapping[str, Iterable[str]], reader: str) -> dict[str, str]:
    """The code for each name: the reader's names decide, then English, `others`, and other languages'."""
    found: dict[str, str] = {}
    for code, name in all_names(names, others, (reader, DEFAULT)):
        for spelling in spellings(name):
            found.setdefault(spelling, code)
    return found


def all_names(
    names: NamesByCode, others: Mapping[str, Iterable[str]], first: Iterable[str]
) -> Iterator[tuple[str, str]]:
    for tag in first:
        yield from names.in_language(tag).items()
    yield from ((code, name) for code, each in others.items() for name in each)
    for tag in every_language():
        yield from names.in_language(tag).items()


def three_letters() -> dict[str, str]:
    """The codes of two letters by those of three (ISO 3166-1 alpha-3)."""
    return {
        long.casefold(): short[0]
        for long, short in get_global("territory_aliases").items()
        if len(long) == 3 and long.isalpha() and len(short) == 1 and short[0] in COUNTRIES
    }


def find_country(text: str) -> str | None:
    """The code of a country, by its code or by any usual name of it; None where there is no such country."""
    code = text.strip().upper()
    return code if code in COUNTRIES else country_codes(language()).get(fold(text))


def find_continent(text: str) -> str | None:
    """The code of a continent, by its code or by a name of it; None where there is no such continent."""
    code = text.strip().upper()
    return code if code in CONTINENTS else continent_codes(language()).get(fold(text))


def find_city(text: str) -> str:
    """`Portland, USA` as `Portland, US`; any other text as it is, without white space around."""
    town, comma, country = text.rpartition(",")
    code = find_country(country) if comma and town.strip() else None
    return f"{town.strip()}, {code}" if code else text.strip()
