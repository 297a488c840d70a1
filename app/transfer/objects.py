"""How is our own export as JSON read back, a line at a time?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from app.transfer.cells import guarded


def objects(file: TextIO) -> Iterator[tuple[int, Any]]:
    """Line and value of each line between the brackets."""
    for number, line in enumerate(file, 1):
        if (text := line.strip().rstrip(",")) not in {"", "[", "]"}:
            try:
                yield number, json.loads(text)
            except ValueError:
                yield number, None


def texts_of(found: dict[str, Any]) -> dict[str, str]:
    return {name: text_of(value) for name, value in found.items()}


def text_of(value: Any) -> str:
    """As a cell of CSV would have it."""
    if isinstance(value, str):
        return guarded(value)
    return "" if value in (None, []) else json.dumps(value, ensure_ascii=False)
