"""Imports of rescued journals: each click counts once, whatever the machine itself has ingested or goes on to."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.analytics import offsets
from app.analytics.ingest import Ingest
from app.analytics.journal_import import JournalImport, Skipped
from app.analytics.models import FinishedSegment
from app.core.config import Settings
from app.journal import segments
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.analytics.conftest import RunImport, Tables, take_in
from tests.journal.children import Child, forks

pytestmark = [pytest.mark.databases, forks]

Visits = Callable[..., None]
OLD = f"{1:019d}-{'a' * 16}.v1"


@pytest.fixture
def dead(rescued: Path) -> Callable[..., str]:
    """`dead(7, 7, 8)`: a segment of a dead machine with a click on each of these links. Returns its name."""
    counted = iter(range(1, 10_000))

    def write(*links: int, lines: tuple[bytes, ...] = ()) -> str:
        journal = Journal(rescued)
        for line in (*(encode(Visit(next(counted), link, 1, 0)) for link in links), *lines):
            assert journal.append(line)
        journal.close()
        return max(segments.list_segments(rescued))

    return write


def set_since(tables: Tables, nanoseconds: int) -> None:
    table = FinishedSegment.__table__
    with tables.engine.begin() as connection:
        connection.execute(table.update().values(nanoseconds=nanoseconds))  # type: ignore[attr-defined]


def test_each_click_once_however_often(run: RunImport, tables: Tables, dead: Callable[..., str]) -> None:
    names = [dead(7, 7, 8), dead(8)]
    report = run()
    assert (report.clicks, report.damaged, report.skipped) == (4, 0, {})
    assert [report.taken[name].clicks for name in names] == [3, 1]
    assert run().clicks == 0
    assert tables.counters() == {7: 2, 8: 2}
    assert sorted(link for _, link in tables.rows()) == [7, 7, 8, 8]
    assert tables.sums("owner_day") == {1: 4}


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


def test_damage_is_counted_as_the_ingest_does(
    run: RunImport, tables: Tables, dead: Callable[..., str]
) -> None:
    dead(7, 8, lines=(b"\n00000000 damaged\n",))
    report = run()
    assert (report.clicks, report.damaged, tables.damaged()) == (2, 1, 1)
    assert run().damaged == 0


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


def write_for_ever(directory: Path) -> None:
    journal = Journal(directory, segment_bytes=4000)
    number = 0
    while True:
        assert journal.append(encode(Visit(number, 7, 1, 0, visitor=f"{number}")))
        number += 1
        time.sleep(0.0002)


def take_in_for_ever(settings: Settings) -> None:
    ingest = Ingest(settings)
    while True:
        ingest.step()
        ingest.tend()


def import_for_ever(settings: Settings, directory: Path) -> None:
    while True:
        made = JournalImport(settings, directory)
        made.run()
        made.close()


@pytest.mark.full
def test_kills_of_imports_beside_a_machine_that_lives(
    settings: Settings,
    run: RunImport,
    tables: Tables,
    directory: Path,
    rescued: Path,
    make_ingest: Callable[[], Ingest],
) -> None:
    """Imports of its live journal and of copies, and its own worker, are killed again and again."""
    chance = random.Random(5)
    writer = Child(lambda: write_for_ever(directory))
    starts = [
        lambda: Child(lambda: take_in_for_ever(settings)),
        lambda: Child(lambda: import_for_ever(settings, directory)),
        lambda: Child(lambda: import_for_ever(settings, rescued)),
    ]
    children = [start() for start in starts]
    for _ in range(20):
        for name in segments.list_segments(directory):  # an older copy of each stays
            if not (rescued / name).exists():
                try:
                    shutil.copy(directory / name, rescued / name)
                except FileNotFoundError:
                    (rescued / name).unlink(missing_ok=True)
        time.sleep(0.15)
        which = chance.randrange(3)
        children[which].kill()
        children[which] = starts[which]()
    for child in [*children, writer]:
        child.kill()
    ingest = make_ingest()
    while True:  # all that the writer has left
        take_in(ingest)
        if not segments.list_segments(directory):
            break
    run()
    run()
    assert tables.damaged() == 0
    times = [moment for moment, _ in tables.rows()]
    assert len(times) > 200, "something was there to be lost"
    assert sorted(times) == list(range(max(times) + 1)), "each once"
    assert tables.counters() == {7: len(times)}
