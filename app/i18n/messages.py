"""Messages of the code in the reader's language: `gettext`, `ngettext` and `pgettext`, at once or lazily.

A lazy message is worded where it is shown: constants are evaluated before there is a reader, and an error
goes to the API in English, to a page in its reader's language. What people typed is only ever a value of a
slot, never a message. In the database a message is the English text with its values, worded where it is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import flask_babel
from babel.support import NullTranslations
from flask_babel import force_locale, get_locale
from flask_babel.speaklater import LazyString
from markupsafe import Markup, escape

from app.i18n import digits
from app.i18n.languages import DEFAULT, translations


def catalogue() -> NullTranslations:
    """The reader's catalogue, kept beside the locale: a page asks for it a thousand times.

    `force_locale` sets what is kept aside, and puts it back. (flask_babel's `get_translations` takes long to
    find it.)
    """
    context = flask_babel._get_current_context()  # noqa: SLF001  where it keeps the locale
    found: NullTranslations | None = getattr(context, "babel_translations", None)
    if found is None:
        found = translations(str(get_locale() or DEFAULT))
        if context is not None:
            context.babel_translations = found
    return found


# letters that are written from right to left
RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def isolated(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of slots; one with letters from right to left can't turn the words around it.

    Pages have `<bdi>` for that. Toasts, attributes and options have no markup: there these characters do.
    """
    return {
        name: f"\u2068{value}\u2069" if is_right_to_left(value) else value for name, value in values.items()
    }


def is_right_to_left(value: object) -> bool:
    return type(value) is str and not value.isascii() and RIGHT_TO_LEFT.search(value) is not None


def gettext(message: str, **values: Any) -> str:
    found = str(catalogue().gettext(message))
    return found % isolated(values) if values else found


def ngettext(one: str, many: str, num: int, **values: Any) -> str:
    """The form that a number asks for. `%(num)s` is the number, unless `num` is among the values."""
    return str(catalogue().ngettext(one, many, num)) % {"num": num, **isolated(values)}


def pgettext(context: str, message: str, **values: Any) -> str:
    """A message that means something else elsewhere: `context` tells them apart."""
    found = str(catalogue().pgettext(context, message))
    return found % isolated(values) if values else found


class LazyMessage(LazyString):
    """A message that is worded each time it is read, in the language of that moment.

    The library's own says that it is safe HTML, with what people typed in its slots.
    """

    @property
    def parts(self) -> tuple[Callable[..., str], tuple[Any, ...], Mapping[str, Any]]:
        """The function that words it, and what this gets."""
        return self._func, self._args, self._kwargs

    def __html__(self) -> Markup:
        return escape(str(self))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


def lazy(function: Callable[..., str], *args: Any, **values: Any) -> str:
    """A lazy message, typed as the text that it becomes."""
    message: Any = LazyMessage(function, *args, **values)
    return message  # type: ignore[no-any-return]


def lazy_gettext(message: str, **values: Any) -> str:
    found: Any = LazyMessage(gettext, message, **values)  # not by `lazy`: redirects are that quick
    return found  # type: ignore[no-any-return]


def gettext_noop(message: str) -> str:
    """The message itself, found by the extraction: it is worded by `gettext` later."""
    return message


def ngettext_noop(one: str, many: str) -> tuple[str, str]:
    """The two forms themselves, worded by `ngettext` later."""
    return one, many


def lazy_ngettext(one: str, many: str, num: int, **values: Any) -> str:
    return lazy(ngettext, one, many, num, **values)


def lazy_digits(number: float) -> str:
    """A number for a slot of a lazy message, in the reader's format."""
    return lazy(digits, number)


# keys of tables of words whose values are no messages
CODES = {"icon", "tone", "sign", "endpoint", "act", "shortcut"}


def worded(value: Any) -> Any:
    """A table of words, as from a TOML file, with each text as a lazy message."""
    if isinstance(value, dict):
        return {name: one if name in CODES else worded(one) for name, one in value.items()}
    return [worded(one) for one in value] if isinstance(value, list) else lazy_gettext(value)


def in_english(text: object) -> str:
    """A text for programs, logs and operators."""
    with force_locale(DEFAULT):
        return str(text)


FUNCTIONS: Mapping[str, Callable[..., str]] = {
    function.__name__: function for function in (gettext, ngettext, digits, str)
}
BEGINNING = '{"say": '  # of a stored message; any other text is stored as it is


def pack(text: object) -> str:
    """A text as it is stored."""
    if not isinstance(text, LazyMessage) and str(text).startswith(BEGINNING):
        text = LazyMessage(str, text)  # another program's text, that would be taken for a message
    return json.dumps(described(text), ensure_ascii=False) if isinstance(text, LazyMessage) else str(text)


def described(value: object) -> Any:
    if isinstance(value, LazyMessage):
        function, args, values = value.parts
        return {
            "say": function.__name__,
            "args": [*map(described, args)],
            "values": {name: described(each) for name, each in values.items()},
        }
    return value if isinstance(value, int | float) else str(value)


def unpack(stored: str) -> str:
    """The text that was stored: a lazy message again, if it was one."""
    if not stored.startswith(BEGINNING):
        return stored
    found: str = restored(json.loads(stored))
    return found


def restored(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    values = {name: restored(each) for name, each in value["values"].items()}
    return lazy(FUNCTIONS[value["say"]], *map(restored, value["args"]), **values)
