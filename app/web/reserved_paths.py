"""Which first words of a path are the instance's own, so that no short address may be one of them?

Matched as short addresses are: without case.
"""

from __future__ import annotations

WORDS = """
    api dashboard login logout setup static media healthz readyz metrics robots.txt favicon.ico sitemap.xml
"""
RESERVED = frozenset(WORDS.split())
RESERVED_START = ".well-known"


def is_reserved(key: str) -> bool:
    """`key`: the word in lower case."""
    return key in RESERVED or key.startswith(RESERVED_START)
