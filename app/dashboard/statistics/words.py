"""Words for dimensions of statistics and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from app.geo.countries import CONTINENTS, COUNTRIES
from app.i18n.messages import lazy_gettext as _l
from app.links import targeting
from app.links.language_names import LANGUAGES


class DimensionWords(NamedTuple):
    """Names of a dimension: singular, plural, and the word for an unknown value."""

    one: str
    many: str
    unknown: str = _l("Unknown")


WORDS: Mapping[str, DimensionWords] = {
    "referrer_host": DimensionWords(_l("Referrer"), _l("Referrers"), _l("Direct or unknown")),
    "referrer_path": DimensionWords(_l("Page"), _l("Pages"), _l("Direct or unknown")),
    "utm_source": DimensionWords("UTM source", "UTM sources", _l("None")),
    "utm_medium": DimensionWords("UTM medium", "UTM media", _l("None")),
    "utm_campaign": DimensionWords("UTM campaign", "UTM campaigns", _l("None")),
    "country_code": DimensionWords(_l("Country"), _l("Countries")),
    "city_name": DimensionWords(_l("City"), _l("Cities")),
    "continent_code": DimensionWords(_l("Continent"), _l("Continents")),
    "browser_name": DimensionWords(_l("Browser"), _l("Browsers")),
    "os_name": DimensionWords(_l("System"), _l("Systems")),
    "device_type": DimensionWords(_l("Device"), _l("Devices")),
    "browser_language": DimensionWords(_l("Language"), _l("Languages")),
    "destination": DimensionWords(_l("Destination"), _l("Destinations")),
}
MORE_LANGUAGES = {
    "af": _l("Afrikaans"),
    "az": _l("Azerbaijani"),
    "be": _l("Belarusian"),
    "bg": _l("Bulgarian"),
    "bn": _l("Bengali"),
    "bs": _l("Bosnian"),
    "ca": _l("Catalan"),
    "cs": _l("Czech"),
    "cy": _l("Welsh"),
    "da": _l("Danish"),
    "el": _l("Greek"),
    "et": _l("Estonian"),
    "eu": _l("Basque"),
    "fa": _l("Persian"),
    "fi": _l("Finnish"),
    "fil": _l("Filipino"),
    "ga": _l("Irish"),
    "gl": _l("Galician"),
    "gu": _l("Gujarati"),
    "he": _l("Hebrew"),
    "hr": _l("Croatian"),
    "hu": _l("Hungarian"),
    "hy": _l("Armenian"),
    "id": _l("Indonesian"),
    "is": _l("Icelandic"),
    "ka": _l("Georgian"),
    "kk": _l("Kazakh"),
    "km": _l("Khmer"),
    "kn": _l("Kannada"),
    "lo": _l("Lao"),
    "lt": _l("Lithuanian"),
    "lv": _l("Latvian"),
    "mk": _l("Macedonian"),
    "ml": _l("Malayalam"),
    "mn": _l("Mongolian"),
    "mr": _l("Marathi"),
    "ms": _l("Malay"),
    "my": _l("Burmese"),
    "nb": _l("Norwegian"),
    "ne": _l("Nepali"),
    "nn": _l("Norwegian (Nynorsk)"),
    "no": _l("Norwegian"),
    "pa": _l("Punjabi"),
    "ro": _l("Romanian"),
    "si": _l("Sinhala"),
    "sk": _l("Slovak"),
    "sl": _l("Slovenian"),
    "sq": _l("Albanian"),
    "sr": _l("Serbian"),
    "sv": _l("Swedish"),
    "sw": _l("Swahili"),
    "ta": _l("Tamil"),
    "te": _l("Telugu"),
    "th": _l("Thai"),
    "ur": _l("Urdu"),
    "uz": _l("Uzbek"),
    "vi": _l("Vietnamese"),
    "zu": _l("Zulu"),
}
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
