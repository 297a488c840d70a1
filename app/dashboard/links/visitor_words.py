"""How is what was found out about a supposed visitor told, in the dashboard's words and the owner's time?"""

from __future__ import annotations

import datetime as dt
import re

from app.languages import dated
from app.links import targeting
from app.places import CONTINENTS, COUNTRIES
from app.visits.explained import Explanation
from app.visits.outcomes import Outcome, Step

LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "da": "Danish",
    "de": "German", "de-AT": "German (Austria)", "de-CH": "German (Switzerland)", "el": "Greek",
    "en": "English", "en-GB": "English (United Kingdom)", "en-US": "English (United States)",
    "es": "Spanish", "es-MX": "Spanish (Mexico)", "et": "Estonian", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "fr-CA": "French (Canada)", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian",
    "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean",
    "lt": "Lithuanian", "lv": "Latvian", "ms": "Malay", "nb": "Norwegian Bokmål", "nl": "Dutch",
    "pl": "Polish", "pt": "Portuguese", "pt-BR": "Portuguese (Brazil)", "ro": "Romanian", "ru": "Russian",
    "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "ta": "Tamil", "te": "Telugu",
    "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
    "zh-TW": "Chinese (Taiwan)",
}  # fmt: skip
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
PAIR = re.compile(r"\bpair (?=\d)")
TYPE = re.compile(rf"^({'|'.join(targeting.TYPES)})(?=: )")


def facts(told: Explanation, zone: dt.tzinfo) -> list[tuple[str, str]]:
    """Who the visitor is taken for, as icons and words."""
    visitor, device = told.visitor, told.visitor.device
    country = COUNTRIES.get(visitor.country_code, "")
    place = ", ".join(
        word for word in (visitor.city_name, country or CONTINENTS.get(visitor.continent_code)) if word
    )
    kind = targeting.DEVICES.get(device.device_type, "")
    machine = ", ".join(word for word in (kind, device.os_name, device.browser_name) if word)
    tags = visitor.languages
    return [
        ("user-round", f"Bot: {visitor.bot_name}" if visitor.is_bot else "A person"),
        ("globe", place or "Somewhere unknown"),
        (
            "smartphone" if device.device_type in {"mobile", "tablet"} else "monitor",
            machine or "Unknown device",
        ),
        ("message-square", ", ".join(map(language, tags[:4])) or "No language"),
        ("calendar-clock", written(told.at, zone)),
    ]


def language(tag: str) -> str:
    """`German (de-AT)`; the tag alone where we have no word for it."""
    word = LANGUAGES.get(tag) or LANGUAGES.get(tag.partition("-")[0].lower())
    return f"{word} ({tag})" if word and tag not in LANGUAGES else word or tag


def in_words(step: Step, outcome: Outcome, zone: dt.tzinfo) -> Step:
    """What was compared, in the owner's own time and the dashboard's words."""
    detail = MOMENT.sub(lambda found: of_utc(found[0], zone), step.detail)
    detail = PAIR.sub("line ", TYPE.sub(lambda found: targeting.TYPES[found[1]].label, detail))
    if step.step == "query" and step.matched and outcome.destination and outcome.location:
        detail = f"From {outcome.destination} to {outcome.location}"
    return step._replace(detail=detail[:1].upper() + detail[1:])


def of_utc(text: str, zone: dt.tzinfo) -> str:
    return written(dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC), zone)


def written(moment: dt.datetime, zone: dt.tzinfo) -> str:
    """To the second where it is not a full minute: starts and ends are exact."""
    here = moment.astimezone(zone)
    return dated(here, "d MMMM y, HH:mm:ss" if here.second else "d MMMM y, HH:mm")
