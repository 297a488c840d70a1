"""Translation of the dashboard: the reader's language, and its texts, numbers and dates.

The code holds the English texts. Another language is a catalogue beside this module. The API stays English.
"""

# see docs/decisions/2026-11-21-languages-of-the-dashboard.md
# see docs/decisions/2026-11-21-numbers-and-days-as-read.md
from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from babel.dates import format_date, format_datetime
from babel.numbers import format_decimal, get_group_symbol
from babel.support import Translations
from flask import Flask
from flask_babel import get_locale
from markupsafe import Markup

from app.i18n.scripts import script_messages

HERE = Path(__file__).parent
DEFAULT = "en"
DAY = {"de": "d."}  # of a month, where a language writes more than the number
NAMES = {"en": "English", "de": "Deutsch"}
SURE = 8
# `… of …` is also in titles that owners type: a pattern with so few letters of its own matches only beside
# a number or an address
FEW, FIGURE = 3, re.compile(r"[\d/]")
NUMBER = re.compile(r"\d{1,3}(,\d{3})+")  # as English groups it
SLOT = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True)
class Catalogue:
    """Catalogue of one language: texts, and patterns for texts with slots."""

    texts: Mapping[str, str]
    patterns: list[tuple[int, re.Pattern[str], str]]  # the first: letters beside the slots
    group: str = ","  # between thousands

    def say(self, text: str) -> str:
        """The translation of a text, English where it has none. White space around it stays."""
        core = text.strip()
        found = self.found(core)
        return text.replace(core, found, 1) if found else text

    def found(self, text: str) -> str | None:
        lower = text[:1].lower() + text[1:]
        if text in self.texts:
            return self.texts[text]
        if lower in self.texts:
            return self.texts[lower][:1].upper() + self.texts[lower][1:]
        return self.by_parts(text) or self.by_pattern(text)

    def by_parts(self, text: str) -> str | None:
        """The translation of several sentences or clauses, where each of them is known."""
        for between, sign in ((r"; ", "; "), (r"(?<=\.) ", " ")):
            parts = re.split(between, text)
            found = [self.found(part) for part in parts] if len(parts) > 1 else [None]
            if None not in found:
                return sign.join(map(str, found))
        return None

    def by_pattern(self, text: str, least: int = 2) -> str | None:
        """The translation by a pattern of at least `least` letters. Texts in slots are translated, too."""
        for letters, pattern, translated in self.patterns:
            match = pattern.fullmatch(text) if letters >= least else None
            if match and (letters > FEW or FIGURE.search(match[1])):
                return translated % {name: self.in_slot(value) for name, value in match.groupdict().items()}
        return None

    def in_slot(self, text: str) -> str:
        if NUMBER.fullmatch(text):
            return text.replace(",", self.group)
        return self.texts.get(text) or self.by_parts(text) or self.by_pattern(text, SURE) or text


@cache
def catalogue(language: str) -> Catalogue | None:
    """The catalogue of a language; None for English, and for a language that has none."""
    if language not in NAMES or language == DEFAULT:
        return None
    found = Translations.load(str(HERE), [language])
    texts = {key: value for key, value in found._catalog.items() if isinstance(key, str) and key}  # noqa: SLF001  it has no other list
    # patterns with the most letters come first: they are the most specific
    known = sorted(((letters_of(key), key) for key in texts if SLOT.search(key)), reverse=True)
    return Catalogue(
        texts,
        [(letters, pattern_of(key), texts[key]) for letters, key in known if letters > 1],
        get_group_symbol(language),
    )


def letters_of(text: str) -> int:
    return sum(map(str.isalpha, SLOT.sub("", text)))


def pattern_of(text: str) -> re.Pattern[str]:
    parts = SLOT.split(text)
    fixed, names = parts[::2], parts[1::2]
    regex = re.escape(fixed[0].replace("%%", "%"))
    for name, after in zip(names, fixed[1:], strict=True):
        regex += f"(?P<{name}>.+?)" + re.escape(after.replace("%%", "%"))
    return re.compile(regex, re.DOTALL | re.IGNORECASE)


def language() -> str:
    """The language of the reader; English where nothing is known about one."""
    return str(get_locale() or DEFAULT)


def say(text: Any) -> str:
    """A text of the code in the reader's language."""
    if isinstance(text, Markup):
        return text  # a message of a template, in the reader's language already
    found = catalogue(language())
    return str(text) if found is None else found.say(str(text))


def digits(number: float, places: int = 0) -> str:
    """A number in the reader's format: `1,234.5`, `1.234,5`."""
    return digits_in(language(), number, places)


@lru_cache(maxsize=5000)  # a long list has the same few numbers and days over and over
def digits_in(tag: str, number: float, places: int) -> str:
    return format_decimal(number, "#,##0" + "." * bool(places) + "0" * places, locale=tag)


def dated(moment: dt.date, pattern: str) -> str:
    """A date or time by a Unicode pattern (`EEE d MMM y, HH:mm`), with names in the reader's language."""
    return dated_in(language(), moment, pattern)


@lru_cache(maxsize=5000)
def dated_in(tag: str, moment: dt.date, pattern: str) -> str:
    found = format_datetime if isinstance(moment, dt.datetime) else format_date
    return found(moment, re.sub(r"\bd\b", DAY.get(tag, "d"), pattern), locale=tag)


def known(text: Any) -> str:
    """A text in the reader's language, only where the catalogue has all of it: an owner may have typed it."""
    if isinstance(text, Markup):
        return text
    found = catalogue(language())
    return str(text) if found is None else found.texts.get(str(text), str(text))


def init_app(app: Flask) -> None:
    app.jinja_env.globals.update(say=say, digits=digits, language=language, script_messages=script_messages)
    app.jinja_env.filters.update(say=say, known=known)
