"""Imports of rescued journals: each click counts once, whatever the machine itself has ingested or goes on to."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.analytics import offsets
from app.analytics.ingest import Ingest
from app.analytics.journal_import import Skipped
from app.analytics.models import FinishedSegment
from app.journal import segments
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.analytics.conftest import RunImport, Tables, take_in
from tests.journal.children import forks

pytestmark = [pytest.mark.databases, forks]

Visits = Callable[..., None]
OLD = f"{1:019d}-{'a' * 16}.v1"


@pytest.fixture
def dead(rescued: Path) -> Callable[..., str]:
    """`dead(7, 7, 8)`: a segment of a dead machine with a click on each of these links. Returns its name."""
    counted = iter(range(1, 10_000))

    def write(*links: int) -> str:
        journal = Journal(rescued)
        for link in links:
            assert journal.append(encode(Visit(next(counted), link, 1, 0)))
        journal.close()
        return max(segments.list_segments(rescued))

    return write


def set_since(tables: Tables, nanoseconds: int) -> None:
    table = FinishedSegment.__table__
    with tables.engine.begin() as connection:
        connection.execute(table.update().values(nanoseconds=nanoseconds))  # type: ignore[attr-defined]


@pytest.mark.parametrize("steps", [1, 2])
def test_what_the_machine_had_ingested_is_not_taken_again(
    run: RunImport, tables: Tables, ingest: Ingest, directory: Path, visit: Visits, rescued: Path, steps: int
) -> None:
    """It died with counters ahead of rows, or with both at some offset."""
    visit(7, 7, 8)
    for _ in range(steps):
        ingest._count() if steps == 1 else ingest.step()
    visit(8)
    shutil.copytree(directory, rescued, dirs_exist_ok=True)
    run()
    assert tables.counters() == {7: 2, 8: 2}
    assert len(tables.rows()) == 4
    take_in(ingest)  # it was not dead, and goes on
    assert tables.counters() == {7: 2, 8: 2}
    assert len(tables.rows()) == 4


def test_a_segment_that_was_finished_is_not_counted_again(
    run: RunImport,
    tables: Tables,
    ingest: Ingest,
    directory: Path,
    journal: Journal,
    visit: Visits,
    rescued: Path,
) -> None:
    """Its offsets are removed with its file; a copy of the file is still on the rescued disk."""
    visit(7, 7)
    journal.close()
    (name,) = segments.list_segments(directory)
    shutil.copy(directory / name, rescued)
    take_in(ingest)
    assert tables.positions() == {}
    assert run().skipped == {name: Skipped.COUNTED}
    assert tables.counters() == {7: 2}
    assert tables.positions() == {}


def test_where_no_record_tells_nothing_is_counted(
    run: RunImport, tables: Tables, rescued: Path, dead: Callable[..., str]
) -> None:
    name = dead(7)
    (rescued / name).rename(rescued / OLD)
    assert run().skipped == {OLD: Skipped.OLD}, "older than the record reaches back"
    assert tables.counters() == {}
    late = dead(8)
    set_since(tables, time.time_ns())
    assert run().skipped == {OLD: Skipped.OLD, late: Skipped.OLD}, "begun before the record was"
    assert run(takes_old=True).clicks == 2
    assert run(takes_old=True).clicks == 0
    assert tables.counters() == {7: 1, 8: 1}


def test_an_unfinished_line_is_left_to_its_writer(
    run: RunImport,
    tables: Tables,
    ingest: Ingest,
    directory: Path,
    visit: Visits,
    journal: Journal,
    rescued: Path,
) -> None:
    """The copy ends in the middle of a line, and the writer lives on."""
    visit(7, 8)
    (name,) = segments.list_segments(directory)
    whole = (directory / name).read_bytes()
    (rescued / name).write_bytes(whole[:-5])
    taken = run().taken[name]
    assert (taken.clicks, taken.tail > 0) == (1, True)
    visit(9)
    journal.close()
    take_in(ingest)
    assert tables.counters() == {7: 1, 8: 1, 9: 1}
    assert (len(tables.rows()), tables.damaged()) == (3, 0)
    assert run().skipped == {name: Skipped.COUNTED}


def test_other_files_are_left_alone(
    run: RunImport, tables: Tables, rescued: Path, dead: Callable[..., str]
) -> None:
    name = dead(7)
    unknown = f"{time.time_ns():019d}-{'b' * 16}.v9"
    for other in (unknown, f"{time.time_ns():019d}-{'c' * 16}.new", "dropped", "keep.lock"):
        (rescued / other).write_bytes(b"\n")
    before = {path.name: path.read_bytes() for path in rescued.iterdir()}
    report = run()
    assert (list(report.taken), report.skipped) == ([name], {unknown: Skipped.UNKNOWN})
    assert {path.name: path.read_bytes() for path in rescued.iterdir()} == before
    assert tables.counters() == {7: 1}


def test_a_worker_of_this_instance_leaves_its_offsets(
    run: RunImport, tables: Tables, ingest: Ingest, dead: Callable[..., str]
) -> None:
    name = dead(7)
    run()
    take_in(ingest)
    assert tables.positions().keys() == {name}
    assert run().clicks == 0


def test_the_record_is_kept_for_long_enough(tables: Tables) -> None:
    recent = f"{time.time_ns():019d}-{'d' * 16}.v1"
    offsets.remove_offsets(tables.engine, [OLD, recent])
    offsets.remove_offsets(tables.engine, [])
    names = [name for (name,) in tables.all(FinishedSegment, "name")]
    assert sorted(names) == sorted([recent, offsets.RECORDED_SINCE])
