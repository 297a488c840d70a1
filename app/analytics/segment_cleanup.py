"""When does a segment of the journal go?

When its writer is gone, all of it is in counters and rows, and those are on disk for good.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import Engine

from app.clicks.engine import checkpoint
from app.clicks.positions import Offsets, forget, read_positions
from app.error_boundary import ErrorBoundary
from app.journal import segments

errors = ErrorBoundary("finished segments")


def remove_finished(engine: Engine, directory: Path) -> list[str]:
    """Checkpoint, then remove what nobody needs any more; its names."""
    with segments.lock(directory / "checkpoint.lock") as is_free:  # two checkpoints at once can harm a WAL
        finished = finished_segments(directory, read_positions(engine))
        if not is_free or not checkpoint(engine) or not finished:
            return []
    with segments.removal_lock(directory) as is_free:
        if not is_free:  # a backup is under way
            return []
        removed = [name for name in finished if errors.run(name, remove, directory / name)]
        # the file goes for good before its position: the other way round a power cut would count it again
        segments.sync_directory(directory)
        forget(engine, removed)
    return removed


def remove(path: Path) -> bool:
    path.unlink(missing_ok=True)
    return True


def finished_segments(directory: Path, positions: Mapping[str, Offsets]) -> list[str]:
    return [
        name
        for name in segments.listed(directory)
        if errors.run(f"{name}, its state", is_finished, directory / name, positions.get(name))
    ]


def is_finished(path: Path, offsets: Offsets | None) -> bool:
    counters, rows = offsets or Offsets()
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        return rows == counters and segments.is_abandoned(file.fileno()) and size(file.fileno()) <= rows
    return False


def size(fd: int) -> int:
    return os.fstat(fd).st_size
