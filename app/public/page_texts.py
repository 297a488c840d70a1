"""Texts of visitors' pages, the icons above them, and the choice of the visitor's language."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from babel.lists import format_list
from flask_babel import force_locale

from app.i18n import language
from app.i18n.languages import every_language, first_of, locale_of
from app.i18n.messages import worded
from app.redirects.request_context import visitor

BRITISH = {"en": "en_GB"}  # without a comma before the last name of a list, as in all English texts here


class PageText(NamedTuple):
    """A title, and a sentence for visitors who do not know Waypost. `sign`: the icon above them."""

    title: str
    text: str
    sign: str = "info"


TABLE = worded(tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")))
PAGES: Mapping[str, PageText] = {name: PageText(**words) for name, words in TABLE["pages"].items()}

# why a gate refuses a form
REFUSALS: Mapping[str, str] = TABLE["refusals"]


@contextmanager
def in_visitors_language() -> Iterator[None]:
    """Words what is rendered in the visitor's language, without a look at who is signed in.

    The page may be about a database that does not answer.
    """
    with force_locale(locale_of(visitors_language())):
        yield


def visitors_language() -> str:
    """The tag of the first of the visitor's languages that has a catalogue."""
    return first_of(every_language(), visitor().languages)


def join_names(names: Sequence[str]) -> str:
    """Names as a list within a sentence: `A, B and C`."""
    return format_list(names, locale=BRITISH.get(language(), language()))
