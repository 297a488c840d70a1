"""Reading segments: exactly the whole lines, of live and of dead writers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.journal import reader as journal_reader
from app.journal import segments
from app.journal.codec import LONGEST_LINE

MUCH = 1 << 20


class Segment:
    """A segment with a writer that is alive until `die`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.fd = segments.create(directory)
        [self.name] = segments.list_segments(directory)

    def write(self, data: bytes) -> None:
        os.write(self.fd, data)

    def die(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def read(self, start: int, limit: int = MUCH) -> tuple[int, list[bytes], bool]:
        chunk = journal_reader.read(self.directory, self.name, start, limit)
        assert chunk is not None
        assert (chunk.name, chunk.start) == (self.name, start)
        return chunk.end, chunk.lines, chunk.is_last


@pytest.fixture
def segment(tmp_path: Path) -> Iterator[Segment]:
    segment = Segment(tmp_path)
    yield segment
    segment.die()


def test_nothing(segment: Segment) -> None:
    assert segment.read(0) == (0, [], False)
    segment.die()
    assert segment.read(0) == (0, [], True)


def test_lines(segment: Segment) -> None:
    segment.write(b"\none\n\ntwo\n")
    assert segment.read(0) == (10, [b"one", b"two"], False)
    assert segment.read(10) == (10, [], False)
    segment.die()
    assert segment.read(0) == (10, [b"one", b"two"], True)


TAILS = {
    "the leading line feed alone": b"\n",
    "a part": b"\ntw",
    "all but the last byte": b"\ntwo",
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS.keys())
def test_a_line_under_way_waits_and_a_torn_one_is_left_out(segment: Segment, tail: bytes) -> None:
    segment.write(b"\none\n" + tail)
    end, lines, is_last = segment.read(0)
    assert (lines, is_last) == ([b"one"], False)
    rest = b"\ntwo\n"[len(tail) :]
    segment.write(rest)
    assert segment.read(end) == (10, [b"two"], False)
    segment.write(tail)
    segment.die()
    assert segment.read(0) == (10 + len(tail), [b"one", b"two"], True)


def test_a_limit_ends_at_a_line(segment: Segment) -> None:
    segment.write(b"\none\n\ntwo\n\nthree\n")
    segment.die()
    assert segment.read(0, 12) == (11, [b"one", b"two"], False)
    assert segment.read(11, 12) == (17, [b"three"], True)


def test_endless_damage_does_not_hold_up_what_follows(segment: Segment) -> None:
    segment.write(b"\n" + bytes(3 * LONGEST_LINE) + b"\none\n")
    offset, lines = 1, []
    while not lines or lines[-1] != b"one":
        offset, found, _ = segment.read(offset, 2 * LONGEST_LINE)
        lines += found
    assert offset == 3 * LONGEST_LINE + 6


def test_a_position_beyond_the_end_is_the_end(segment: Segment) -> None:
    segment.write(b"\none\n")
    segment.die()
    assert segment.read(99) == (99, [], True)


def test_a_removed_segment(tmp_path: Path) -> None:
    assert journal_reader.read(tmp_path, "1795000000000000000-00112233aabbccdd.v1", 0, MUCH) is None
