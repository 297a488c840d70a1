"""By what may visitors be told apart, and which keys has each such type?

A key is matched without case; those of a closed set, and the well-known names, are stored in one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.places import CONTINENTS, COUNTRIES
from app.reading import Rejected, plain, whole

MOST_PAIRS = 100
MOST_INDEX = 999
MOST_NAME = 128

DEVICES = {"desktop": "Desktop", "mobile": "Phone", "tablet": "Tablet"}
SYSTEMS = ("Windows", "macOS", "iOS", "Android", "Linux", "Chrome OS")
BROWSERS = ("Chrome", "Safari", "Firefox", "Edge", "Opera", "Samsung Internet")

# RFC 5646, 2.1: language, script, region, variants, extensions, private use. Languages of five to eight
# letters are provided for but were never registered; they would only let `english` pass.
LANGUAGE = re.compile(
    r"(?P<language>[a-z]{2,3})(?:-[a-z]{3}){0,3}(?:-(?P<script>[a-z]{4}))?(?:-(?P<region>[a-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*(?:-[0-9a-wy-z](?:-[a-z0-9]{2,8})+)*(?:-x(?:-[a-z0-9]{1,8})+)?",
    re.ASCII | re.IGNORECASE,
)
# ISO 639-1
LANGUAGE_LINES = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv
    dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig
    ii ik in io is it iu iw ja ji jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu
    lv mg mh mi mk ml mn mo mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu
    rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr
    ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
LANGUAGES = frozenset(LANGUAGE_LINES.split())

Read = Callable[[str], str]


def one_of(known: Iterable[str], what: str) -> Read:
    """A key of a closed set, in the set's spelling."""
    words = spellings(known)

    def read(text: str) -> str:
        # ASCII only: other letters lower to these, too
        if not text.isascii() or text.lower() not in words:
            raise Rejected(f"This must be {what}.", "choice")
        return words[text.lower()]

    return read


def name(known: Iterable[str]) -> Read:
    """Any name; a well-known one in its usual spelling."""
    words = spellings(known)
    return lambda text: words.get(text.lower(), plain(text, MOST_NAME))


def spellings(known: Iterable[str]) -> dict[str, str]:
    return {word.lower(): word for word in known}


def city(text: str) -> str:
    """`name`, or `name, CC` with the code of a country."""
    town, comma, code = plain(text, MOST_NAME).rpartition(",")
    country = code.strip().upper()
    return f"{town.rstrip()}, {country}" if comma and town.strip() and country in COUNTRIES else text


def language(text: str) -> str:
    """A BCP 47 tag, in the spelling that its standard recommends: `pt-BR`, `zh-Hant-TW`."""
    found = LANGUAGE.fullmatch(text)
    if found is None or (len(found["language"]) == 2 and found["language"].lower() not in LANGUAGES):
        raise Rejected("This must be the tag of a language, like en or pt-BR.", "choice")
    first, *rest = text.split("-")
    return "-".join([first.lower(), *cased(rest)])


def cased(subtags: Iterable[str]) -> Iterable[str]:
    """Regions in capitals, scripts with one; all in lower case behind a single letter."""
    is_plain = False
    for subtag in subtags:
        is_plain = is_plain or len(subtag) == 1
        if not is_plain and len(subtag) == 2:
            yield subtag.upper()
        else:
            yield subtag.title() if not is_plain and len(subtag) == 4 and subtag.isalpha() else subtag.lower()


def weight(text: str) -> str:
    return str(whole(text, 1, 100))


@dataclass(frozen=True)
class Type:
    """One way to tell visitors apart: its name, how a key is read, and the keys to choose from, where few."""

    label: str
    read: Read
    keys: Mapping[str, str]


def named(*words: str) -> dict[str, str]:
    return {word: word for word in words}


TYPES: Mapping[str, Type] = {
    "continent_code": Type("Continent", one_of(CONTINENTS, "a continent's code, like EU"), CONTINENTS),
    "country_code": Type("Country", one_of(COUNTRIES, "a country's code of two letters, like DE"), COUNTRIES),
    "city_name": Type("City", city, {}),
    "device_type": Type("Device", one_of(DEVICES, "desktop, mobile or tablet"), DEVICES),
    "browser_language": Type("Language", language, {}),
    "rotation": Type("Share of visitors", weight, {}),
    "os_name": Type("Operating system", name(SYSTEMS), named(*SYSTEMS)),
    "browser_name": Type("Browser", name(BROWSERS), named(*BROWSERS)),
}
LABELS: dict[Any, str] = {type_: one.label for type_, one in TYPES.items()}
