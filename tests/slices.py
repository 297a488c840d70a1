"""Reads the slices of threads, which `app.core.scheduling` sets."""

from __future__ import annotations

from app.core.scheduling import SLICE, read_attributes


def read_slice(thread: int) -> float | None:
    """The slice of a thread in milliseconds, 0 for the calling one; None where the kernel tells none."""
    attributes = read_attributes(thread)
    return attributes[SLICE] / 1_000_000 if attributes and attributes[SLICE] else None
