"""In which words is a message said? In the language of the owner whose handler is told.

English is what the code says, with `{slots}`; another language is a file of `languages/`. Names of places and
days, and how numbers are written, are Unicode's.
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

from app.notifications import languages
from app.registry import modules

DEFAULT = "en"
DAY = {"de": "d."}  # of a month, where it is not the number alone
spoken: ContextVar[str] = ContextVar("spoken", default=DEFAULT)


@cache
def catalogues() -> Mapping[str, Mapping[str, str]]:
    return MappingProxyType({tag: module.WORDS for tag, module in modules(languages).items()})


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """All that is said within is said so; English where there is no such catalogue."""
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
    """By a pattern of Unicode's, like `d MMMM y`."""
    return format_date(date, re.sub(r"\bd\b", DAY.get(spoken.get(), "d"), pattern), locale=spoken.get())


def territory(code: str, english: str) -> str:
    """A country's name; in English the one that the dashboard and statistics use."""
    if spoken.get() == DEFAULT:
        return english
    return str(Locale.parse(spoken.get()).territories.get(code, english))
