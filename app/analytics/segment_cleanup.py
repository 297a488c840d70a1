"""Removes finished segments of the journal.

A segment is finished when its writer has ended, all of it is in counters and rows, and these are durable.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import Engine

from app.analytics.engine import checkpoint_wal
from app.analytics.offsets import Offsets, read_positions, remove_offsets
from app.core.durable_files import sync_directory
from app.core.error_boundary import ErrorBoundary
from app.core.file_locks import lock_file
from app.journal import segments

errors = ErrorBoundary("finished segments")


def remove_finished(engine: Engine, directory: Path) -> list[str]:
    """Checkpoints, then removes finished segments; returns their names."""
    with lock_file(directory / "checkpoint.lock") as is_free:  # two checkpoints at once can harm a WAL
        finished = finished_segments(directory, read_positions(engine))
        if not is_free or not checkpoint_wal(engine) or not finished:
            return []
    with segments.removal_lock(directory) as is_free:
        if not is_free:  # a backup is under way
            return []
        removed = [name for name in finished if errors.run(name, remove_segment, directory / name)]
        # the file's removal is durable before its offsets go: else a power cut could count it again
        sync_directory(directory)
        remove_offsets(engine, removed)
    return removed


def remove_segment(path: Path) -> bool:
    path.unlink(missing_ok=True)
    return True


def finished_segments(directory: Path, positions: Mapping[str, Offsets]) -> list[str]:
    return [
        name
        for name in segments.list_segments(directory)
        if errors.run(f"{name}, its state", is_finished, directory / name, positions.get(name))
    ]


def is_finished(path: Path, offsets: Offsets | None) -> bool:
    counters, rows = offsets or Offsets()
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        return rows == counters and segments.is_abandoned(file.fileno()) and size_of(file.fileno()) <= rows
    return False


def size_of(fd: int) -> int:
    return os.fstat(fd).st_size
