"""Names of languages by their BCP 47 tags, and the tags for the names that people type."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from babel import Locale

from app.geo.names import NamesByCode, find_country, fold, spellings
from app.i18n import language
from app.i18n.languages import DEFAULT, every_language, locale_of

TABLE = tomllib.loads((Path(__file__).parent / "languages.toml").read_text("utf-8"))


def name_of(locale: Locale, tag: str) -> str:
    """CLDR's name of a language: `Portuguese (Brazil)`. Some languages write it small: a list does not."""
    primary, _, region = tag.partition("-")
    name = str(locale.languages.get(primary, primary))
    name = name[:1].upper() + name[1:]
    return f"{name} ({locale.territories[region]})" if region else name


LANGUAGES = NamesByCode(TABLE["suggested"].split(), name_of)
# by primary subtag, as clicks have them
PRIMARY_LANGUAGES = NamesByCode(
    (tag for tag in map(str, locale_of(DEFAULT).languages) if "_" not in tag), name_of
)
WITH_REGION = re.compile(r"\s*(?P<language>[^()]+?)\s*\((?P<region>[^()]+)\)\s*")
# `de`, `de_AT`, `es_419`: without those of scripts and of the whole world, which browsers do not send
USUAL_TAG = re.compile(r"[a-z]{2,3}(_[A-Z]{2}|_419)?", re.ASCII)


def describe_language(tag: str) -> str:
    """`German (de-LI)`; the tag alone where the language has no name."""
    name = LANGUAGES.get(tag) or PRIMARY_LANGUAGES.get(tag.partition("-")[0].lower())
    return f"{name} ({tag})" if name and tag not in LANGUAGES else name or tag


def cased(subtags: Iterable[str]) -> Iterable[str]:
    """Subtags in their usual case: `BR`, `Hant`; lower case after a subtag of a single letter."""
    is_plain = False
    for subtag in subtags:
        is_plain = is_plain or len(subtag) == 1
        if not is_plain and len(subtag) == 2:
            yield subtag.upper()
        else:
            yield subtag.title() if not is_plain and len(subtag) == 4 and subtag.isalpha() else subtag.lower()


def find_language(text: str) -> str | None:
    """The tag of a language by a name of it (`German`, `Deutsch (Österreich)`); None where it is no name."""
    known = tags_by_name(language())
    if re.fullmatch(r"\s*[A-Za-z]{2}\s*", text):
        return None  # a tag: `ga` is Irish, though there is a language called Ga
    if found := known.get(fold(text)):
        return found
    match = WITH_REGION.fullmatch(text)
    primary = known.get(fold(match["language"])) if match else None
    country = find_country(match["region"]) if match and primary else None
    return f"{primary}-{country}" if primary and country and "-" not in primary else None


@cache
def tags_by_name(reader: str) -> dict[str, str]:
    """The tag for each name of a language as it is compared; where languages differ, the reader's decides."""
    found: dict[str, str] = {}
    for tag, name in names_by_preference(reader):
        for spelling in spellings(name):
            found.setdefault(spelling, tag)
    return found


def names_by_preference(reader: str) -> Iterator[tuple[str, str]]:
    for tag, names in TABLE["other_names"].items():
        yield from ((tag, name) for name in names)
    for each in (reader, DEFAULT, *every_language()):
        for tag, name in locale_of(each).languages.items():
            if USUAL_TAG.fullmatch(tag):
                yield tag.replace("_", "-"), str(name)
    for tag in LANGUAGES:  # each by its own word for itself, as `Deutsch`
        if "-" not in tag and (own := locale_of(tag).languages.get(tag)):
            yield tag, str(own)
