"""A rescued journal counts once wherever clicks live: in counters, in statistics and in the feed of events."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

import datetime as dt
import shutil
import time
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from app.accounts.models import User
from app.analytics.clickhouse import writer
from app.analytics.clickhouse.client import clickhouse_of
from app.analytics.ingest import Ingest
from app.analytics.journal_import import JournalImport, Skipped
from app.analytics.periods import QUARTER_MS
from app.analytics.readers import reader_of
from app.analytics.scope import Scope
from app.core.config import Settings
from app.journal import segments
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.analytics.conftest import Crash, RunImport, Tables, take_in
from tests.analytics.load import load
from tests.events.conftest import Feed, feed  # noqa: F401  a fixture
from tests.journal.children import Child, forks
from tests.server import wait_for

BEGIN = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
FIRST_MS = int(BEGIN.timestamp()) * 1000


@pytest.fixture
def visits(alice: User) -> list[Visit]:
    return load(60, BEGIN, 4, {alice.id: (10, 11)}, Random(8))


def write(directory: Path, visits: list[Visit]) -> str:
    """A segment with these clicks, whose writer is gone. Returns its name."""
    journal = Journal(directory)
    assert all(journal.append(encode(visit)) for visit in visits)
    journal.close()
    return max(segments.list_segments(directory))


def counted_once(feed: Feed, tables: Tables, visits: list[Visit]) -> None:
    """Everything that tells of clicks has each of these once."""
    people = Counter(visit.link_id for visit in visits if not visit.is_bot)
    assert tables.counters() == people
    if not feed.settings.clickhouse_url:
        assert tables.sums("owner_day") == {feed.workspace_id: len(visits)}
    feed.session.rollback()
    reader = reader_of(feed.session)
    last = max(visit.time_ms for visit in visits) // QUARTER_MS + 1
    first = min(visit.time_ms for visit in visits) // QUARTER_MS
    everyone = Counter(visit.link_id for visit in visits)
    assert reader.by_link(Scope(feed.workspace_id, is_bot=None), first, last) == everyone
    counts = reader.by_quarter(Scope(feed.workspace_id), first, last).values()
    assert sum(count.pageviews for count in counts) == people.total()
    told = feed.all(types=frozenset({"link.clicked"}))
    assert Counter(event["data"]["link"]["id"] for event in told) == everyone
    assert len({event["id"] for event in told}) == len(visits)


def test_each_click_once_however_often(
    run: RunImport, rescued: Path, feed: Feed, tables: Tables, visits: list[Visit]
) -> None:
    names = [write(rescued, visits[:40]), write(rescued, visits[40:])]
    report = run()
    assert (report.clicks, report.damaged, report.skipped) == (60, 0, {})
    assert [report.taken[name].clicks for name in names] == [40, 20]
    counted_once(feed, tables, visits)
    before = feed.all()
    assert [run().clicks, run().clicks] == [0, 0]
    assert feed.all() == before
    counted_once(feed, tables, visits)


def test_a_machine_that_goes_on_after_all(
    run: RunImport, rescued: Path, feed: Feed, tables: Tables, directory: Path, visits: list[Visit]
) -> None:
    """It had ingested a part, an older copy of its journal is imported, and it goes on from there."""
    assert all(feed.journal.append(encode(visit)) for visit in visits[:20])
    feed.take_in()
    assert all(feed.journal.append(encode(visit)) for visit in visits[20:40])
    shutil.copytree(directory, rescued, dirs_exist_ok=True)
    assert run().clicks == 20
    counted_once(feed, tables, visits[:40])
    assert all(feed.journal.append(encode(visit)) for visit in visits[40:])
    feed.take_in()
    counted_once(feed, tables, visits)
    feed.journal.close()
    feed.ingest.tend()
    take_in(feed.ingest)
    assert run().count_skipped() == {Skipped.COUNTED: 1}
    counted_once(feed, tables, visits)


def test_damaged_and_unfinished_lines(
    run: RunImport, rescued: Path, feed: Feed, tables: Tables, visits: list[Visit]
) -> None:
    name = write(rescued, visits[:9])
    with (rescued / name).open("ab") as file:
        file.write(b"\n00000000 damaged\n" + encode(visits[9]) + encode(visits[10])[:-5])
    report = run()
    assert (report.clicks, report.damaged, report.taken[name].tail > 0) == (10, 1, True)
    counted_once(feed, tables, visits[:10])
    assert (run().clicks, tables.damaged()) == (0, 1)


CRASHES: dict[str, tuple[str, bool]] = {
    "before the insert": ("insert_clicks", False),
    "after the insert": ("insert_clicks", True),
    "before the position": ("move_offset", False),
    "before the events": ("finish_batch", False),
}
who_is_killed = pytest.mark.parametrize("is_import", [False, True], ids=["the machine", "the import"])


@pytest.mark.parametrize("store", ["clickhouse"], indirect=True)
@who_is_killed
@pytest.mark.parametrize("name", CRASHES)
def test_a_batch_that_was_begun_comes_once(
    name: str,
    is_import: bool,
    run: RunImport,
    rescued: Path,
    directory: Path,
    feed: Feed,
    tables: Tables,
    settings: Settings,
    visits: list[Visit],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed in the middle of a batch; the import does the rest, and the machine itself if it comes back."""
    written = write(directory, visits[:40])
    with (directory / written).open("ab") as file:
        file.write(encode(visits[40])[:-5])  # its writer was killed, too
    function, is_after = CRASHES[name]
    real = getattr(writer, function)

    def crash(*arguments: Any) -> None:
        is_noting = function == "move_offset" and arguments[-1] == arguments[-2]
        if is_after or is_noting:
            real(*arguments)
        if not is_noting:
            raise Crash

    shutil.copytree(directory, rescued, dirs_exist_ok=True)
    with monkeypatch.context() as patch:
        patch.setattr(writer, function, crash)
        with pytest.raises(Crash):
            run() if is_import else take_in(feed.ingest)
    run()
    counted_once(feed, tables, visits[:40])
    after = Ingest(settings)
    take_in(after)
    after.close()
    run()
    counted_once(feed, tables, visits[:40])


@pytest.mark.parametrize("store", ["clickhouse"], indirect=True)
def test_a_copy_that_is_older_than_a_batch_that_was_begun(
    run: RunImport,
    rescued: Path,
    directory: Path,
    feed: Feed,
    tables: Tables,
    visits: list[Visit],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some of the batch may be in ClickHouse: a part of it under another token could come twice."""
    assert all(feed.journal.append(encode(visit)) for visit in visits[:20])
    shutil.copytree(directory, rescued, dirs_exist_ok=True)
    assert all(feed.journal.append(encode(visit)) for visit in visits[20:])

    def crash(*_arguments: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(writer, "finish_batch", crash)
        with pytest.raises(Crash):
            feed.take_in()
    assert run().count_skipped() == {Skipped.CUT: 1}
    shutil.copytree(directory, rescued, dirs_exist_ok=True)
    assert run().clicks == 60
    counted_once(feed, tables, visits)


@pytest.mark.parametrize("store", ["clickhouse"], indirect=True)
def test_two_that_note_a_batch_at_once(
    run: RunImport,
    rescued: Path,
    directory: Path,
    feed: Feed,
    tables: Tables,
    visits: list[Visit],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The machine notes and inserts one while the import, which has seen none, is about to note a shorter."""
    assert all(feed.journal.append(encode(visit)) for visit in visits[:20])
    feed.ingest._count()
    shutil.copytree(directory, rescued, dirs_exist_ok=True)
    assert all(feed.journal.append(encode(visit)) for visit in visits[20:])
    real = writer.SegmentBatches._note
    overtaken: list[str] = []

    def note(batches: Any, intent: Any) -> None:
        if not overtaken:
            overtaken.append(intent.name)
            segment = feed.ingest._elsewhere._batches  # type: ignore[union-attr]
            feed.ingest._count()
            offsets = writer.Offsets(*tables.positions()[intent.source])
            found = segment._intended(intent.source, offsets)  # noted, and killed then
            assert found is not None and found[0].end > intent.end
        real(batches, intent)

    monkeypatch.setattr(writer.SegmentBatches, "_note", note)
    run()
    assert overtaken
    feed.take_in()
    run()
    counted_once(feed, tables, visits)


def write_for_ever(directory: Path, workspace_id: int) -> None:
    journal = Journal(directory, segment_bytes=4000)
    for number in count():
        assert journal.append(encode(Visit(FIRST_MS + number, 7, workspace_id, 0, visitor=f"{number}")))
        time.sleep(0.0005)


def take_in_for_ever(settings: Settings) -> None:
    clickhouse_of.cache_clear()  # a client of this process's own
    ingest = Ingest(settings)
    while True:
        ingest.step()
        ingest.tend()


def import_for_ever(settings: Settings, directory: Path) -> None:
    clickhouse_of.cache_clear()
    while True:
        made = JournalImport(settings, directory)
        made.run()
        made.close()


@forks
@pytest.mark.full
def test_kills_of_imports_beside_a_machine_that_lives(
    run: RunImport, rescued: Path, directory: Path, feed: Feed, tables: Tables, settings: Settings
) -> None:
    """Imports of its live journal and of copies, and its own worker, are killed again and again."""
    chance = Random(5)
    starts = [
        lambda: Child(lambda: take_in_for_ever(settings)),
        lambda: Child(lambda: import_for_ever(settings, directory)),
        lambda: Child(lambda: import_for_ever(settings, rescued)),
    ]
    children = [start() for start in starts]
    writer = Child(lambda: write_for_ever(directory, feed.workspace_id))
    for _ in range(20):
        before = len(times_of(tables, settings))
        for name in segments.list_segments(directory):  # an older copy of each stays
            with suppress(FileNotFoundError):
                if not (rescued / name).exists():
                    (rescued / name).write_bytes((directory / name).read_bytes())
        wait_for(lambda before=before: len(times_of(tables, settings)) > before, "some clicks")  # type: ignore[misc]
        which = chance.randrange(3)
        children[which].kill()
        children[which] = starts[which]()
    for child in [*children, writer]:
        child.kill()
    while True:  # all that the writer has left
        take_in(feed.ingest)
        if not segments.list_segments(directory):
            break
    run()
    run()
    assert tables.damaged() == 0
    times = sorted(times_of(tables, settings))
    assert len(times) > 200, "something was there to be lost"
    assert times == list(range(FIRST_MS, FIRST_MS + len(times))), "each once"
    counted_once(feed, tables, [Visit(ms, 7, feed.workspace_id, 0) for ms in times])


def times_of(tables: Tables, settings: Settings) -> list[int]:
    """The time of each click, wherever it is."""
    if not settings.clickhouse_url:
        return [time_ms for time_ms, _ in tables.rows()]
    return [row[0] for row in clickhouse_of(settings.clickhouse_url).query("SELECT time_ms FROM click")]
