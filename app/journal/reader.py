"""Reads the complete lines of a segment from an offset on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from app.core.error_boundary import ErrorBoundary
from app.core.scheduling import giving_way
from app.journal import segments
from app.journal.codec import FORMATS, LONGEST_LINE, Visit


class Chunk(NamedTuple):
    """The whole lines between two offsets of a segment, damaged ones too, in order.

    `is_last`: the writer is gone and nothing comes after `end`. A last line that the writer did not finish
    is left out: its visitor never got an answer.
    """

    name: str
    start: int
    end: int
    lines: list[bytes]
    is_last: bool


def read(directory: Path, name: str, start: int, limit: int, *, is_copy: bool = False) -> Chunk | None:
    """The next lines of a segment within `limit` bytes; None if the file is gone.

    Of a copy, which nobody writes, the end proves nothing: the original's writer may have gone on.
    """
    try:
        fd = os.open(directory / name, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        is_abandoned = not is_copy and segments.is_abandoned(
            fd
        )  # before reading: a check afterwards proves nothing
        data = os.pread(fd, limit, start)
        is_last = is_abandoned and start + len(data) >= os.fstat(fd).st_size
    finally:
        os.close(fd)
    end = start + len(data) if is_last else start + whole(data)
    return Chunk(name, start, end, [line for line in data[: whole(data)].split(b"\n") if line], is_last)


def whole(data: bytes) -> int:
    """How many bytes of `data` are complete lines."""
    length = data.rfind(b"\n") + 1
    # no line is that long, so it is damage; waiting for its end would block everything after it
    return length or (len(data) if len(data) > LONGEST_LINE else 0)


def decode_lines(errors: ErrorBoundary, chunk: Chunk) -> list[Visit | None]:
    """The clicks of a chunk, None for each damaged line."""
    decode = FORMATS[segments.version_of(chunk.name) or ""].decode
    with errors.attempt():
        return list(map(decode, giving_way(chunk.lines)))
    found: list[Visit | None] = []
    for line in chunk.lines:
        found.append(None)
        with errors.attempt():
            found[-1] = decode(line)
    return found
