"""Messages in the database: the English text with its values, to be worded where it is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from app.i18n import digits
from app.i18n.messages import LazyMessage, gettext, lazy, ngettext

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
