"""Counts of answered requests, by class of their path and of their status."""

from __future__ import annotations

from app.core.counters import counters
from app.web.paths import OWNERS, first_segment
from app.web.reserved_paths import is_reserved

STATUS_CLASSES = {"2": "2xx", "3": "3xx", "4": "4xx"}


def class_of(path: str) -> str:
    """`redirect` for each path that a link may have, also where the answer is a page or there is no link."""
    first = first_segment(path)
    if first in OWNERS:
        return "api" if first == "api" else "dashboard"
    return "other" if not first or is_reserved(first) else "redirect"


def count_request(path: str, status: str, nanoseconds: int | None = None) -> None:
    """Count an answer. `nanoseconds` is None for one that was refused before anything was done for it."""
    kind = class_of(path)
    counters.add(f"requests {kind} {STATUS_CLASSES.get(status[:1], '5xx')}")
    if nanoseconds is not None:
        counters.count_duration(kind, nanoseconds)
