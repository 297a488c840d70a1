"""Translation of messages into the language of the handler's owner.

The code contains the English texts, with `{slots}`; each other language is a file of `languages/`. Names of
countries and days, and the format of numbers, come from Unicode's CLDR.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import MappingProxyType

from babel import Locale
from babel.dates import format_date
from babel.numbers import format_decimal

from app.core.registry import modules
from app.notifications import languages

DEFAULT = "en"
DAY = {"de": "d."}  # the day of a month, where a language writes more than the number
spoken: ContextVar[str] = ContextVar("spoken", default=DEFAULT)


@cache
def catalogues() -> Mapping[str, Mapping[str, str]]:
    return MappingProxyType({tag: module.WORDS for tag, module in modules(languages).items()})


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Translate within this context into `language`; English where it has no catalogue."""
    before = spoken.set(language if language in catalogues() else DEFAULT)
    try:
        yield
    finally:
        spoken.reset(before)


def said(text: str, **slots: object) -> str:
    return catalogues().get(spoken.get(), {}).get(text, text).format_map(slots)


def digits(number: int) -> str:
    return format_decimal(number, "#,##0", locale=spoken.get())


def day(date: dt.date, pattern: str) -> str:
    """A date by a CLDR pattern such as `d MMMM y`."""
    return format_date(date, re.sub(r"\bd\b", DAY.get(spoken.get(), "d"), pattern), locale=spoken.get())


def territory(code: str, english: str) -> str:
    """The name of a country; in English the one that the dashboard and statistics use."""
    if spoken.get() == DEFAULT:
        return english
    return str(Locale.parse(spoken.get()).territories.get(code, english))
