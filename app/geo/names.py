"""Names of countries and continents in the reader's language, and the codes for names that people type."""

# see docs/decisions/2026-11-24-names-for-codes.md
from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from babel.core import get_global

from app.geo.countries import CONTINENTS, COUNTRIES
from app.geo.other_names import OTHER_NAMES
from app.i18n import language
from app.i18n.languages import DEFAULT, every_language, locale_of

# CLDR has continents by the numbers of UN M.49
NUMBERS = {"AF": "002", "AN": "AQ", "AS": "142", "EU": "150", "NA": "003", "OC": "009", "SA": "005"}
OTHER_CONTINENTS = {
    "NA": ["Nord-Amerika", "Norteamérica", "Northern America"],
    "OC": ["Australia and Oceania", "Australien", "Ozeanien"],
    "SA": ["Süd-Amerika", "América del Sur", "Southern America"],
}
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


def codes_by_spelling(tables: Iterable[Mapping[str, Iterable[str]]]) -> dict[str, str]:
    """The code for each name as it is compared. The first table that has a name decides."""
    found: dict[str, str] = {}
    for names in tables:
        for code, each in names.items():
            for name in each:
                for spelling in spellings(name):
                    found.setdefault(spelling, code)
    return found


class NamesByCode(Mapping[str, str]):
    """The names of all codes in the reader's language, in the order of their names.

    In English the names of `countries`, which are shorter than those of CLDR.
    """

    def __init__(self, english: Mapping[str, str], numbers: Mapping[str, str] | None = None) -> None:
        self.english, self.numbers = english, numbers or {}
        self.tables: dict[str, dict[str, str]] = {}

    def __getitem__(self, code: str) -> str:
        return self.in_language(language())[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self.in_language(language()))

    def __len__(self) -> int:
        return len(self.english)

    def in_language(self, tag: str) -> dict[str, str]:
        if tag not in self.tables:
            named = self.english if tag == DEFAULT else self.cldr(tag)
            self.tables[tag] = dict(sorted(named.items(), key=lambda one: fold(one[1])))
        return self.tables[tag]

    def cldr(self, tag: str) -> dict[str, str]:
        names = locale_of(tag).territories
        return {
            code: str(names.get(self.numbers.get(code, code), name)) for code, name in self.english.items()
        }


COUNTRY_NAMES = NamesByCode(COUNTRIES)
CONTINENT_NAMES = NamesByCode(CONTINENTS, NUMBERS)


@cache
def country_codes(tag: str) -> dict[str, str]:
    """The code for each name of a country as it is compared; where languages differ, the reader's decides."""
    return three_letters() | codes_by_spelling(tables_of(COUNTRY_NAMES, OTHER_NAMES, tag))


@cache
def continent_codes(tag: str) -> dict[str, str]:
    return codes_by_spelling(tables_of(CONTINENT_NAMES, OTHER_CONTINENTS, tag))


def tables_of(
    names: NamesByCode, others: Mapping[str, Iterable[str]], tag: str
) -> Iterator[Mapping[str, Iterable[str]]]:
    """Names by code: the reader's first, then the English, other usual ones, and the other languages'."""

    def single(table: Mapping[str, str]) -> Mapping[str, Iterable[str]]:
        return {code: [name] for code, name in table.items()}

    yield single(names.in_language(tag))
    yield single(names.in_language(DEFAULT))
    yield single(names.cldr(DEFAULT))
    yield others
    yield from (single(names.cldr(other)) for other in every_language())


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
