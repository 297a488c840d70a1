"""In which words are the values of visits told?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from app.dashboard.wordings import LANGUAGES
from app.links import targeting
from app.places import CONTINENTS, COUNTRIES


class Words(NamedTuple):
    """Of a dimension: one of it, many of it, and what it is called where it is not known."""

    one: str
    many: str
    unknown: str = "Unknown"


WORDS: Mapping[str, Words] = {
    "referrer_host": Words("Referrer", "Referrers", "Direct or unknown"),
    "referrer_path": Words("Page", "Pages", "Direct or unknown"),
    "utm_source": Words("UTM source", "UTM sources", "None"),
    "utm_medium": Words("UTM medium", "UTM media", "None"),
    "utm_campaign": Words("UTM campaign", "UTM campaigns", "None"),
    "country_code": Words("Country", "Countries"),
    "city_name": Words("City", "Cities"),
    "continent_code": Words("Continent", "Continents"),
    "browser_name": Words("Browser", "Browsers"),
    "os_name": Words("System", "Systems"),
    "device_type": Words("Device", "Devices"),
    "browser_language": Words("Language", "Languages"),
    "destination": Words("Destination", "Destinations"),
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
