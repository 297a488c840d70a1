"""Which short address does a path name, and which paths are never one?"""

from __future__ import annotations

import re
import unicodedata

from app.reserved import is_reserved

LONGEST = 256 * 4  # the longest alias, in bytes of UTF-8
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")

# of the reserved words: what only owners use, and what only operators do
OWNERS = frozenset({"api", "dashboard", "login", "logout", "setup"})
OPERATORS = frozenset({"healthz", "readyz", "metrics"})


def first_segment(path: str) -> str:
    """What stands between the first and the second slash, without case."""
    return path[1:].partition("/")[0].lower()


def is_ours(path: str) -> bool:
    """Whether a path is the instance's own for ever, so that no link can have it."""
    return is_reserved(first_segment(path))


def alias_key(path: str) -> str | None:
    """The key of the alias that a WSGI path (each byte a character) names, or None if it can name none.

    One trailing slash is tolerated. What a database can't take, as NUL, never reaches one.
    """
    name = path[1:-1] if path.endswith("/") else path[1:]
    if not name or "/" in name or len(name) > LONGEST:
        return None
    try:
        text = name.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None
    return None if CONTROL.search(text) else unicodedata.normalize("NFC", text).casefold()
