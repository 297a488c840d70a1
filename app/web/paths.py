"""Paths of requests: the alias that a path names, and the paths that belong to the instance.

Reserved first segments are matched as aliases are: without case. No alias may begin with one.
"""

from __future__ import annotations

import re
import unicodedata

WORDS = """
    api dashboard login logout setup static media healthz readyz metrics robots.txt favicon.ico sitemap.xml
"""
RESERVED = frozenset(WORDS.split())
RESERVED_START = ".well-known"


def is_reserved(key: str) -> bool:
    """Whether a first segment is reserved. `key`: the segment in lower case."""
    return key in RESERVED or key.startswith(RESERVED_START)


LONGEST = 256 * 4  # the longest alias, in bytes of UTF-8
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")

# of the reserved words: those that only owners use, and those that only operators use
OWNERS = frozenset({"api", "dashboard", "login", "logout", "setup"})
OPERATORS = frozenset({"healthz", "readyz", "metrics"})


def first_segment(path: str) -> str:
    """The part between the first and the second slash, in lower case."""
    return path[1:].partition("/")[0].lower()


def is_ours(path: str) -> bool:
    """Whether a path is reserved for the instance, so that no link can have it."""
    return is_reserved(first_segment(path))


def has_empty_segment(name: str) -> bool:
    return "//" in name or name[0] == "/" or name[-1] == "/"


def alias_key(path: str) -> str | None:
    """The key of the alias that a WSGI path (each byte a character) names, or None if it can name none.

    One trailing slash is tolerated; others stand between two segments. Characters that a database can't
    store, such as NUL, never reach one.
    """
    name = path[1:-1] if path.endswith("/") else path[1:]
    if not name or len(name) > LONGEST or ("/" in name and has_empty_segment(name)):
        return None
    try:
        text = name.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None
    return None if CONTROL.search(text) else unicodedata.normalize("NFC", text).casefold()
