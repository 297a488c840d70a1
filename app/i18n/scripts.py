"""Messages of the scripts, which each page carries in its reader's language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from babel import Locale
from babel.messages.extract import extract_from_file
from flask_babel import get_locale

from app.i18n.languages import DEFAULT, translations

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
