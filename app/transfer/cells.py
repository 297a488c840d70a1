"""How does a text stand in a cell so that no spreadsheet takes it for a formula, and how is it read back?

A quote before what could begin one, as OWASP's page on CSV injection has it.
"""

from __future__ import annotations

BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def guarded(text: str) -> str:
    return f"'{text}" if text.startswith(BEGINS_FORMULA) or text.startswith("'") else text


def unguarded(text: str) -> str:
    """What `guarded` was given; a quote before anything else stays."""
    return text[1:] if text.startswith("'") and text[1:].startswith((*BEGINS_FORMULA, "'")) else text


def storable(text: str) -> str:
    """The text as every database and answer can carry it: without NUL and halves of surrogate pairs."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
