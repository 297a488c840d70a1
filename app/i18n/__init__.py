"""Translation: the reader's language, with its numbers and dates, and the messages of the scripts.

The code holds the English texts as message ids. Every other language is one catalogue beside this module, for
the dashboard, visitors' pages, mails and chats. The API stays English.
"""

# see docs/decisions/2026-11-23-messages-by-gettext.md
# see docs/decisions/2026-11-21-numbers-and-days-as-read.md
from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from babel import Locale
from babel.dates import format_date, format_datetime
from babel.messages.extract import extract_from_file
from babel.numbers import format_decimal, format_percent
from flask import Flask
from flask_babel import get_locale

from app.i18n.languages import DEFAULT, translations

DAY = {"de": "d."}  # of a month, where a language writes more than the number


def init_app(app: Flask) -> None:
    app.jinja_env.globals.update(digits=digits, language=language, script_messages=script_messages)


def language() -> str:
    """The language of the reader; English where nothing is known about one."""
    return str(get_locale() or DEFAULT)


def digits(number: float, places: int = 0) -> str:
    """A number in the reader's format: `1,234.5`, `1.234,5`."""
    return digits_in(language(), number, places)


@lru_cache(maxsize=5000)  # a long list has the same few numbers and days over and over
def digits_in(tag: str, number: float, places: int) -> str:
    return format_decimal(number, "#,##0" + "." * bool(places) + "0" * places, locale=tag)


def percent(number: float, *, is_signed: bool = False) -> str:
    """A percentage in the reader's format: `12%`, `12 %`; `+12%`, `−12%` where signed.

    The sign is a minus, not a hyphen: screen readers say it. `number`: 12 for `12%`.
    """
    rounded = round(number)
    sign = "" if not (is_signed and rounded) else "+" if rounded > 0 else "−"
    return sign + percent_in(language(), abs(rounded))


@lru_cache(maxsize=200)
def percent_in(tag: str, number: int) -> str:
    return format_percent(number / 100, "#,##0" + percent_pattern(tag), locale=tag)


@lru_cache(maxsize=100)
def percent_pattern(tag: str) -> str:
    """The percent sign as the language writes it, with the space before it that most have."""
    return str(Locale.parse(tag).percent_formats[None].pattern).partition("0")[2]


def dated(moment: dt.date, pattern: str) -> str:
    """A date or time by a Unicode pattern (`EEE d MMM y, HH:mm`), with names in the reader's language."""
    return dated_in(language(), moment, pattern)


@lru_cache(maxsize=5000)
def dated_in(tag: str, moment: dt.date, pattern: str) -> str:
    found = format_datetime if isinstance(moment, dt.datetime) else format_date
    return found(moment, re.sub(r"\bd\b", DAY.get(tag, "d"), pattern), locale=tag)


SCRIPTS = Path(__file__).parent.parent / "static"
# every plural form of a language is that of one of these numbers; French and Spanish have one for millions
SAMPLES = (*range(101), 1_000_000)

Texts = Mapping[str, str | Mapping[str, str]]


def script_messages() -> Texts:
    """Each translation by its English text, of one with plural forms by their names for `Intl.PluralRules`.

    Empty for English, which the scripts hold themselves.
    """
    tag = str(get_locale() or DEFAULT)
    return {} if tag == DEFAULT else messages_in(tag)


@cache
def messages_in(tag: str) -> Texts:
    found = translations(tag)
    form = Locale.parse(tag).plural_form
    return {
        one: {form(number): found.ngettext(one, many, number) for number in SAMPLES}
        if many
        else found.gettext(one)
        for one, many in extracted()
    }


def extracted() -> Iterator[tuple[str, str]]:
    """Each message of the scripts with its plural, "" where it has none."""
    for script in sorted(SCRIPTS.glob("*.js")):
        for _, message, _, _ in extract_from_file("javascript", script):
            yield (message[0], message[1]) if isinstance(message, tuple) else (message, "")
