"""Names of languages by their BCP 47 tags, and the tags for the names that people type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from app.geo.names import find_country, fold, spellings
from app.i18n import language
from app.i18n.languages import DEFAULT, every_language, locale_of
from app.i18n.messages import lazy_gettext as _l

LANGUAGES = {
    "ar": _l("Arabic"),
    "bg": _l("Bulgarian"),
    "bn": _l("Bengali"),
    "ca": _l("Catalan"),
    "cs": _l("Czech"),
    "da": _l("Danish"),
    "de": _l("German"),
    "de-AT": _l("German (Austria)"),
    "de-CH": _l("German (Switzerland)"),
    "el": _l("Greek"),
    "en": "English",
    "en-GB": _l("English (United Kingdom)"),
    "en-US": _l("English (United States)"),
    "es": _l("Spanish"),
    "es-MX": _l("Spanish (Mexico)"),
    "et": _l("Estonian"),
    "fa": _l("Persian"),
    "fi": _l("Finnish"),
    "fr": _l("French"),
    "fr-CA": _l("French (Canada)"),
    "he": _l("Hebrew"),
    "hi": _l("Hindi"),
    "hr": _l("Croatian"),
    "hu": _l("Hungarian"),
    "id": _l("Indonesian"),
    "it": _l("Italian"),
    "ja": _l("Japanese"),
    "ko": _l("Korean"),
    "lt": _l("Lithuanian"),
    "lv": _l("Latvian"),
    "ms": _l("Malay"),
    "nb": _l("Norwegian Bokmål"),
    "nl": _l("Dutch"),
    "pl": _l("Polish"),
    "pt": _l("Portuguese"),
    "pt-BR": _l("Portuguese (Brazil)"),
    "ro": _l("Romanian"),
    "ru": _l("Russian"),
    "sk": _l("Slovak"),
    "sl": _l("Slovenian"),
    "sr": _l("Serbian"),
    "sv": _l("Swedish"),
    "ta": _l("Tamil"),
    "te": _l("Telugu"),
    "th": _l("Thai"),
    "tr": _l("Turkish"),
    "uk": _l("Ukrainian"),
    "ur": _l("Urdu"),
    "vi": _l("Vietnamese"),
    "zh": _l("Chinese"),
    "zh-TW": _l("Chinese (Taiwan)"),
}

# CLDR has these for scripts and regions of which browsers do not tell, or by other words
OTHER_NAMES = {
    "zh": ["Mandarin", "Mandarin Chinese", "Hochchinesisch", "Mandarín"],
    "zh-CN": [
        *("Simplified Chinese", "Chinese (simplified)", "Chinesisch vereinfacht", "Vereinfachtes Chinesisch"),
        *("Chinois simplifié", "Chino simplificado"),
    ],
    "zh-TW": [
        *("Traditional Chinese", "Chinese (traditional)", "Chinesisch traditionell"),
        *("Traditionelles Chinesisch", "Chinois traditionnel", "Chino tradicional"),
    ],
    "nb": ["Norwegian", "Norwegisch", "Norvégien", "Noruego", "Bokmål"],
    "fa": ["Farsi"],
    "es": ["Castilian", "Castellano", "Kastilisch", "Castillan"],
    "fil": ["Tagalog", "Pilipino"],
    "en-GB": ["British"],
    "en-US": ["American"],
    "pt-BR": ["Brazilian"],
}
WITH_REGION = re.compile(r"\s*(?P<language>[^()]+?)\s*\((?P<region>[^()]+)\)\s*")
# `de`, `de_AT`, `es_419`: without those of scripts and of the whole world, which browsers do not send
USUAL_TAG = re.compile(r"[a-z]{2,3}(_[A-Z]{2}|_419)?", re.ASCII)


def describe_language(tag: str) -> str:
    """`German (de-LI)`; the tag alone where the language has no word here."""
    word = LANGUAGES.get(tag) or LANGUAGES.get(tag.partition("-")[0].lower())
    return f"{word} ({tag})" if word and tag not in LANGUAGES else str(word or tag)


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
    for tag, names in OTHER_NAMES.items():
        yield from ((tag, name) for name in names)
    for each in (reader, DEFAULT, *every_language()):
        for tag, name in locale_of(each).languages.items():
            if USUAL_TAG.fullmatch(tag):
                yield tag.replace("_", "-"), str(name)
    for tag in LANGUAGES:  # each by its own word for itself, as `Deutsch`
        if "-" not in tag and (own := locale_of(tag).languages.get(tag)):
            yield tag, str(own)
