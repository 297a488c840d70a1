"""Texts of cells as the database can hold them."""

from __future__ import annotations


def storable(text: str) -> str:
    """The text as every database and answer can carry it: without NUL and halves of surrogate pairs."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
