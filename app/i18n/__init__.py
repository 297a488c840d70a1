"""Translation: the reader's language, with its numbers and dates.

The code holds the English texts as message ids. Every other language is one catalogue beside this module, for
the dashboard, visitors' pages, mails and chats. The API stays English.
"""

# see docs/decisions/2026-11-23-messages-by-gettext.md
# see docs/decisions/2026-11-21-numbers-and-days-as-read.md
from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache

from babel import Locale
from babel.dates import format_date, format_datetime
from babel.numbers import format_decimal, format_percent
from flask import Flask
from flask_babel import get_locale

from app.i18n.languages import DEFAULT
from app.i18n.scripts import script_messages

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
