"""First segments of a path that are reserved for the instance, so that no alias may begin with one.

They are matched as aliases are: without case.
"""

from __future__ import annotations

WORDS = """
    api dashboard login logout setup static media healthz readyz metrics robots.txt favicon.ico sitemap.xml
"""
RESERVED = frozenset(WORDS.split())
RESERVED_START = ".well-known"


def is_reserved(key: str) -> bool:
    """Whether a first segment is reserved. `key`: the segment in lower case."""
    return key in RESERVED or key.startswith(RESERVED_START)
