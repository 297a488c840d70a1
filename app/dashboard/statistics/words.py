"""Words for dimensions of statistics and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from app.geo.countries import CONTINENTS, COUNTRIES
from app.links import targeting
from app.links.language_names import LANGUAGES


class DimensionWords(NamedTuple):
    """Names of a dimension: singular, plural, and the word for an unknown value."""

    one: str
    many: str
    unknown: str = "Unknown"


WORDS: Mapping[str, DimensionWords] = {
    "referrer_host": DimensionWords("Referrer", "Referrers", "Direct or unknown"),
    "referrer_path": DimensionWords("Page", "Pages", "Direct or unknown"),
    "utm_source": DimensionWords("UTM source", "UTM sources", "None"),
    "utm_medium": DimensionWords("UTM medium", "UTM media", "None"),
    "utm_campaign": DimensionWords("UTM campaign", "UTM campaigns", "None"),
    "country_code": DimensionWords("Country", "Countries"),
    "city_name": DimensionWords("City", "Cities"),
    "continent_code": DimensionWords("Continent", "Continents"),
    "browser_name": DimensionWords("Browser", "Browsers"),
    "os_name": DimensionWords("System", "Systems"),
    "device_type": DimensionWords("Device", "Devices"),
    "browser_language": DimensionWords("Language", "Languages"),
    "destination": DimensionWords("Destination", "Destinations"),
}
MORE_LANGUAGES = {
    "af": "Afrikaans", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian", "bn": "Bengali",
    "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "el": "Greek",
    "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fil": "Filipino", "ga": "Irish",
    "gl": "Galician", "gu": "Gujarati", "he": "Hebrew", "hr": "Croatian", "hu": "Hungarian",
    "hy": "Armenian", "id": "Indonesian", "is": "Icelandic", "ka": "Georgian", "kk": "Kazakh",
    "km": "Khmer", "kn": "Kannada", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian",
    "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi", "ms": "Malay", "my": "Burmese", "nb": "Norwegian",
    "ne": "Nepali", "nn": "Norwegian (Nynorsk)", "no": "Norwegian", "pa": "Punjabi", "ro": "Romanian",
    "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish",
    "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "ur": "Urdu", "uz": "Uzbek",
    "vi": "Vietnamese", "zu": "Zulu",
}  # fmt: skip
NAMES: Mapping[str, Mapping[str, str]] = {
    "country_code": COUNTRIES,
    "continent_code": CONTINENTS,
    "device_type": targeting.DEVICES,
    "browser_language": {**MORE_LANGUAGES, **LANGUAGES},
}
DEVICE_ICONS = {"desktop": "monitor", "mobile": "smartphone", "tablet": "tablet"}


def word(dimension: str, value: str | None) -> str:
    if value is None:
        return WORDS[dimension].unknown
    return NAMES.get(dimension, {}).get(value, value)
