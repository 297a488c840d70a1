"""Texts of cells as the database can store them."""

from __future__ import annotations


def storable(text: str) -> str:
    """The text without NUL and lone surrogates, which no database or response can contain."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
