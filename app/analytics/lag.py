"""Lag of the ingest: how far counters and rows are behind the journal, and how many clicks were dropped.

It needs the journal's directory and the offsets alone, so any process can compute it, also while the worker
is down.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

from sqlalchemy import Table, exists, func, select

from app.analytics.models import IngestedLimitedClick
from app.analytics.offsets import Offsets
from app.core.database import AnySession
from app.journal import reader as journal_reader
from app.journal import segments
from app.journal.codec import FORMATS, LONGEST_LINE
from app.journal.persistent_value import Dropped, PersistentValue
from app.redirects.models import LimitedVisit


class JournalLag(NamedTuple):
    """What waits: how many bytes, and the age of the oldest click among them (0 when nothing waits)."""

    waiting_bytes: int
    seconds: float


class JournalState(NamedTuple):
    """State of a journal. `waits_for`: what holds up the ingesting worker, empty while nothing does."""

    counters: JournalLag
    rows: JournalLag
    dropped: int
    last_dropped: int  # when, in seconds since 1970; 0 where never
    unknown: tuple[str, ...]
    waits_for: str


def journal_state(directory: Path, positions: Mapping[str, Offsets], now: float) -> JournalState:
    """The state of this machine's journal. `now` in seconds since 1970."""
    names = segments.list_segments(directory)
    offsets = {name: positions.get(name, Offsets()) for name in names}
    return JournalState(
        counters=measure_lag(directory, {name: each.counters for name, each in offsets.items()}, now),
        rows=measure_lag(directory, {name: each.rows for name, each in offsets.items()}, now),
        dropped=Dropped(directory).read(),
        last_dropped=Dropped(directory).last_time(),
        unknown=tuple(segments.list_unknown_segments(directory)),
        waits_for=hindrance_file(directory).read(),
    )


def hindrance_file(directory: Path) -> PersistentValue:
    """The file in which the ingesting worker stores what holds it up."""
    return PersistentValue(directory / "waits-for")


def measure_lag(directory: Path, offsets: Mapping[str, int], now: float) -> JournalLag:
    waiting = {name: size(directory / name) - offset for name, offset in offsets.items()}
    late = [name for name, length in waiting.items() if length > 0]
    moments = [first_visit_time(directory, name, offsets[name]) for name in late]
    oldest = min((moment for moment in moments if moment is not None), default=now)
    return JournalLag(sum(waiting[name] for name in late), max(now - oldest, 0.0))


def size(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def first_visit_time(directory: Path, name: str, offset: int) -> float | None:
    """The time of the first undamaged click after an offset, in seconds; None if there is none (yet)."""
    chunk = journal_reader.read(directory, name, offset, 2 * LONGEST_LINE)
    decode = FORMATS[segments.version_of(name) or ""].decode
    visits = (decode(line) for line in (chunk.lines if chunk else ()))
    return next((visit.time_ms / 1000 for visit in visits if visit), None)


VISITS = cast("Table", LimitedVisit.__table__)
TAKEN = cast("Table", IngestedLimitedClick.__table__)

IS_NEW = ~exists().where(TAKEN.c.id == VISITS.c.id)
IS_KNOWN = VISITS.c.version.in_(FORMATS)


class LimitedLag(NamedTuple):
    """Clicks that are counted, but not in the statistics yet. `unknown` ones wait for a newer version."""

    waiting: int
    seconds: float
    unknown: int


def limited_lag(session: AnySession, now: float) -> LimitedLag:
    """The lag as of `now`, in seconds since 1970."""
    waiting = session.scalar(select(func.count()).select_from(VISITS).where(IS_NEW, IS_KNOWN)) or 0
    unknown = session.scalar(select(func.count()).select_from(VISITS).where(~IS_KNOWN)) or 0
    return LimitedLag(waiting, max(now - find_oldest(session, now), 0.0), unknown)


def find_oldest(session: AnySession, now: float) -> float:
    """The time of the waiting click with the lowest id; `now` if there is none or it is damaged."""
    found = session.execute(select(VISITS).where(IS_NEW, IS_KNOWN).order_by(VISITS.c.id).limit(1)).first()
    visit = found and FORMATS[found.version].decode(bytes(found.line).strip(b"\n"))
    return visit.time_ms / 1000 if visit else now
