"""Names of languages, by their BCP 47 tags."""

from __future__ import annotations

from collections.abc import Iterable

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
