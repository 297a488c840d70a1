"""The texts that a search of links looks in, as they are stored."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy.engine.default import DefaultExecutionContext

SEARCHED = ("url", "location_url", "title")


def folded(*texts: str | None) -> str:
    """The text that a search looks in: one line each, case-folded, in NFC. No database folds by Unicode."""
    lines = "\n".join((text or "").replace("\n", " ") for text in texts)
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", lines).casefold())


def folded_of_row(context: DefaultExecutionContext) -> str:
    row: Mapping[str, Any] = context.get_current_parameters()  # type: ignore[no-untyped-call]
    return folded(*(row.get(name) for name in SEARCHED))


def folded_notes_of_row(context: DefaultExecutionContext) -> str | None:
    row: Mapping[str, Any] = context.get_current_parameters()  # type: ignore[no-untyped-call]
    return folded_notes(row.get("notes"), [])


def folded_notes(notes: str | None, tags: Iterable[str]) -> str | None:
    return folded(notes, *tags).strip("\n") or None
