"""The languages that have a catalogue, what each of them covers, and the language of texts for one reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType

from babel import Locale
from babel.support import NullTranslations, Translations
from flask import Flask, has_app_context
from flask_babel import Babel, force_locale

HERE = Path(__file__).parent
DEFAULT = "en"
# the Language-Team of a catalogue without the dashboard's texts (a header of our own would not be compiled)
VISITORS_ONLY = "visitors"


@cache
def translations(tag: str) -> NullTranslations:
    """The catalogue of a language; an empty one for English."""
    return Translations.load(str(HERE), [tag])


@cache
def locale_of(tag: str) -> Locale:
    """Babel's data of a language. (To parse a tag takes 14 µs, each time.)"""
    return Locale.parse(tag)


@cache
def every_language() -> tuple[str, ...]:
    """The tags of all languages: visitors' pages are in each of them."""
    return (DEFAULT, *sorted(path.parts[-3] for path in HERE.glob("*/LC_MESSAGES/messages.mo")))


@cache
def dashboard_languages() -> Mapping[str, str]:
    """The languages of the dashboard, mails and chats, by their tags: each with its own name for itself."""
    tags = [tag for tag in every_language() if translations(tag).info().get("language-team") != VISITORS_ONLY]
    return MappingProxyType({tag: str(Locale.parse(tag).get_language_name(tag)).capitalize() for tag in tags})


def first_of(offered: Iterable[str], wished: Iterable[str | None]) -> str:
    """The first of the wished languages that is offered, else English. `pt-BR` is read as `pt`.

    (For `de-AT, en;q=0.5` Werkzeug's `best_match` would choose English.)
    """
    known = set(offered)
    primary = (tag.partition("-")[0].lower() for tag in wished if tag)
    return next((tag for tag in primary if tag in known), DEFAULT)


@contextmanager
def in_language(tag: str) -> Iterator[None]:
    """Words all messages within this context in a language; in English where it has no whole catalogue.

    The worker's threads have no application, and without one no language could be forced.
    """
    with ExitStack() as stack:
        if not has_app_context():
            stack.enter_context(bare_application().app_context())
        stack.enter_context(force_locale(locale_of(tag if tag in dashboard_languages() else DEFAULT)))
        yield


@cache
def bare_application() -> Flask:
    """An application that knows of languages and nothing else."""
    app = Flask(__name__, static_folder=None)
    Babel(app, configure_jinja=False)
    return app
