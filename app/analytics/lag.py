"""How far behind the visitors are counters and rows, and what was lost on the way?

Answered from the journal's directory and the positions alone, so that any process can tell, also while the
worker is down.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from app.clicks.positions import Offsets
from app.journal import reading, segments
from app.journal.record import FORMATS, LONGEST_LINE
from app.journal.slate import Dropped, Slate


class Lag(NamedTuple):
    """What waits: how many bytes, and how old the oldest visit among them is (0 when nothing waits)."""

    waiting_bytes: int
    seconds: float


class JournalState(NamedTuple):
    """`waits_for` is what the ingesting worker said last: empty while nothing holds it up."""

    counters: Lag
    rows: Lag
    dropped: int
    last_dropped: int  # when, in seconds since 1970; 0 where never
    unknown: tuple[str, ...]
    waits_for: str


def journal_state(directory: Path, positions: Mapping[str, Offsets], now: float) -> JournalState:
    """The state of this machine's journal. `now` in seconds since 1970."""
    names = segments.listed(directory)
    offsets = {name: positions.get(name, Offsets()) for name in names}
    return JournalState(
        counters=lag(directory, {name: each.counters for name, each in offsets.items()}, now),
        rows=lag(directory, {name: each.rows for name, each in offsets.items()}, now),
        dropped=Dropped(directory).read(),
        last_dropped=Dropped(directory).last_time(),
        unknown=tuple(segments.unknown(directory)),
        waits_for=hindrance(directory).read(),
    )


def hindrance(directory: Path) -> Slate:
    """Where the ingesting worker writes what it waits for."""
    return Slate(directory / "waits-for")


def lag(directory: Path, offsets: Mapping[str, int], now: float) -> Lag:
    waiting = {name: size(directory / name) - offset for name, offset in offsets.items()}
    late = [name for name, length in waiting.items() if length > 0]
    moments = [written(directory, name, offsets[name]) for name in late]
    oldest = min((moment for moment in moments if moment is not None), default=now)
    return Lag(sum(waiting[name] for name in late), max(now - oldest, 0.0))


def size(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def written(directory: Path, name: str, offset: int) -> float | None:
    """When the first sound visit after an offset came, in seconds; None if none is there (yet)."""
    chunk = reading.read(directory, name, offset, 2 * LONGEST_LINE)
    decode = FORMATS[segments.version_of(name) or ""].decode
    visits = (decode(line) for line in (chunk.lines if chunk else ()))
    return next((visit.time_ms / 1000 for visit in visits if visit), None)
