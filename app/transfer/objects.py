"""How is our own export as JSON read back, a line at a time?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from app.transfer.cells import guarded
from app.transfer.lines import TooLong, read_line


def objects(file: TextIO) -> Iterator[tuple[int, Any]]:
    """Line and value of each line between the brackets."""
    number = 0
    while line := next_line(file):
        number += 1
        if (text := line.strip().rstrip(",")) not in {"", "[", "]"}:
            try:
                yield number, json.loads(text)
            except ValueError:
                yield number, None


def next_line(file: TextIO) -> str:
    """One that is too long is one that is no object."""
    try:
        return read_line(file)
    except TooLong:
        return "…"


def texts_of(found: dict[str, Any]) -> dict[str, str]:
    return {name: text_of(value) for name, value in found.items()}


def text_of(value: Any) -> str:
    """As a cell of CSV would have it."""
    if isinstance(value, str):
        return guarded(value)
    return "" if value in (None, []) else json.dumps(value, ensure_ascii=False)
