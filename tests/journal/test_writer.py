"""Writing to the journal: every acknowledged visit is in it, whatever happens to the writer or the disk."""

from __future__ import annotations

import errno
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.journal import disk_reserve, persistent_value, segments, writer
from app.journal.codec import Visit, decode, encode
from app.journal.persistent_value import Dropped
from app.journal.reader import read
from app.journal.writer import Journal
from tests.journal.children import Child, forks
from tests.server import wait_for

MUCH = 1 << 30


def line(number: int) -> bytes:
    return encode(Visit(number, 1, 1, 0, agent="Mozilla/5.0 " * 10))


def found(directory: Path) -> list[int]:
    """The numbers of all visits in a journal, in the order of its lines; damaged lines are -1."""
    lines = (
        each for name in segments.list_segments(directory) for each in read(directory, name, 0, MUCH).lines
    )  # type: ignore[union-attr]
    return [visit.time_ms if (visit := decode(each)) else -1 for each in lines]


@pytest.fixture
def make_journal(tmp_path: Path) -> Iterator[Callable[..., Journal]]:
    made: list[Journal] = []

    def make(sync: str = "worker", segment_bytes: int = writer.SEGMENT_BYTES) -> Journal:
        made.append(Journal(tmp_path, sync=sync, segment_bytes=segment_bytes))
        return made[-1]

    yield make
    for journal in made:
        journal.close()


def test_nothing_is_opened_before_the_first_visit(
    tmp_path: Path, make_journal: Callable[..., Journal]
) -> None:
    journal = make_journal()
    assert [*tmp_path.iterdir()] == []
    assert journal.append(line(1))
    assert found(tmp_path) == [1]
    assert (tmp_path / "reserve").stat().st_size == disk_reserve.BYTES


def test_a_closed_journal_goes_on_in_a_new_segment(
    tmp_path: Path, make_journal: Callable[..., Journal]
) -> None:
    journal = make_journal()
    for number in range(3):
        assert journal.append(line(number))
        journal.close()
    assert found(tmp_path) == [0, 1, 2]
    assert len(segments.list_segments(tmp_path)) == 3


@pytest.mark.parametrize("sync", ["worker", "group"])
def test_threads_share_one_writer_through_rotations(
    tmp_path: Path, make_journal: Callable[..., Journal], sync: str
) -> None:
    threads, each = 16, 500 if sync == "worker" else 60
    journal = make_journal(sync, segment_bytes=20_000 if sync == "worker" else 5_000)
    numbers = [range(first * each, (first + 1) * each) for first in range(threads)]
    acknowledged: list[bool] = []
    together = threading.Barrier(threads)

    def visit(mine: range) -> None:
        together.wait()
        acknowledged.extend(journal.append(line(number)) for number in mine)

    running = [threading.Thread(target=visit, args=(mine,)) for mine in numbers]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert acknowledged == [True] * threads * each
    assert Counter(found(tmp_path)) == Counter(range(threads * each))
    assert len(segments.list_segments(tmp_path)) > 10
    order = [number for number in found(tmp_path) if number in numbers[3]]
    if sync == "group":  # there a lock orders writes and rotations
        assert order == sorted(order)


def test_a_rotated_segment_is_given_up(tmp_path: Path, make_journal: Callable[..., Journal]) -> None:
    journal = make_journal(segment_bytes=1)
    assert journal.append(line(1))
    full, fresh = segments.list_segments(tmp_path)
    with (tmp_path / full).open("rb") as old, (tmp_path / fresh).open("rb") as new:
        assert segments.is_abandoned(old.fileno())
        assert not segments.is_abandoned(new.fileno())


@forks
def test_a_forked_child_has_a_segment_of_its_own(
    tmp_path: Path, make_journal: Callable[..., Journal]
) -> None:
    journal = make_journal()
    assert journal.append(line(1))
    [parents] = segments.list_segments(tmp_path)
    holding, held = threading.Event(), threading.Event()

    def hold() -> None:
        with journal._lock:  # as a rotating thread does; the child won't have that thread
            held.set()
            holding.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = Child(lambda: [journal.append(line(2)), journal.append(line(3))])
    holding.set()
    thread.join()
    assert child.wait() == 0
    assert journal.append(line(4))
    [childs] = set(segments.list_segments(tmp_path)) - {parents}
    with (tmp_path / parents).open("rb") as mine, (tmp_path / childs).open("rb") as the_childs:
        assert not segments.is_abandoned(mine.fileno())
        assert segments.is_abandoned(the_childs.fileno())
    assert found(tmp_path) == [1, 4, 2, 3]


def test_group_returns_only_after_the_sync_that_covers_the_line(
    tmp_path: Path, make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, on_disk = make_journal("group"), 0
    real = os.fdatasync

    def sync(fd: int) -> None:
        nonlocal on_disk
        size = os.fstat(fd).st_size
        real(fd)
        on_disk = max(on_disk, size)

    monkeypatch.setattr(os, "fdatasync", sync)
    behind: list[int] = []

    def visit() -> None:
        for number in range(30):
            journal.append(line(number))
            written = os.fstat(journal._fd).st_size
            if on_disk == 0 or on_disk < written - 8 * len(line(0)):
                behind.append(number)

    running = [threading.Thread(target=visit) for _ in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert behind == []
    assert on_disk == os.fstat(journal._fd).st_size


def test_group_counts_a_visit_once_that_the_disk_refuses_to_sync(
    tmp_path: Path, make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = make_journal("group")
    assert journal.append(line(1))
    monkeypatch.setattr(os, "fdatasync", refuse(errno.EIO))
    assert journal.append(line(2))
    assert found(tmp_path) == [1, 2]


def refuse(number: int) -> Callable[..., int]:
    def call(*_args: object) -> int:
        raise OSError(number, os.strerror(number))

    return call


class Disk:
    """Replaces `os.write`, as on a disk with `left` bytes of space."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = MUCH
        self.write = os.write
        monkeypatch.setattr(os, "write", self)

    def __call__(self, fd: int, data: bytes) -> int:
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self.write(fd, data[: self.left])
        self.left -= written
        return written


@pytest.mark.parametrize("sync", ["worker", "group"])
def test_a_full_disk_gets_the_reserve(
    tmp_path: Path, make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch, sync: str
) -> None:
    journal, disk = make_journal(sync), Disk(monkeypatch)
    release = disk_reserve.release

    def give(directory: Path) -> None:
        if (directory / "reserve").exists():
            disk.left += 3 * len(line(1)) + 20
        release(directory)

    monkeypatch.setattr(disk_reserve, "release", give)
    assert journal.append(line(1))
    disk.left = 10  # the next write is cut short
    assert [journal.append(line(number)) for number in (2, 3, 4, 5, 6)] == [True, True, True, False, False]
    disk.left = MUCH
    assert journal.append(line(7))
    assert [number for number in found(tmp_path) if number > 0] == [1, 2, 3, 4, 7]
    assert found(tmp_path).count(-1) == 2, "the two torn ones stand apart and spoil no other"
    assert journal.dropped.read() == 2


@pytest.mark.parametrize("sync", ["worker", "group"])
def test_a_write_cut_short_anywhere_counts_once(
    tmp_path: Path, make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch, sync: str
) -> None:
    journal, disk = make_journal(sync), Disk(monkeypatch)
    monkeypatch.setattr(disk_reserve, "release", lambda _directory: setattr(disk, "left", MUCH))
    numbers = range(100, 100 + len(line(100)))  # lines of the same length
    for cut, number in enumerate(numbers):
        disk.left = cut
        assert journal.append(line(number))
    assert [number for number in found(tmp_path) if number >= 0] == [*numbers]


def test_dropped_visits_are_counted_together_and_for_good(
    tmp_path: Path, make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    journals = [make_journal(), make_journal()]
    assert all(journal.append(line(1)) for journal in journals)
    Disk(monkeypatch).left = 0
    for journal in journals:
        assert not any(journal.append(line(number)) for number in range(3))
    assert Dropped(tmp_path).read() == 6


def test_dropped_visits_wait_for_a_place_to_be_counted_at(
    tmp_path: Path, make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = make_journal()
    Disk(monkeypatch).left = 0
    with monkeypatch.context() as full:
        full.setattr(os, "open", refuse(errno.ENOSPC))  # not even a segment can be created
        assert not journal.append(line(1))
        assert not journal.append(line(2))
    assert Dropped(tmp_path).read() == 0
    assert not journal.append(line(3))
    assert Dropped(tmp_path).read() == 3


@pytest.mark.parametrize("sync", ["worker", "group"])
def test_an_unwritable_journal_keeps_visits_in_memory_and_writes_them_when_it_can(
    tmp_path: Path, make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch, sync: str
) -> None:
    monkeypatch.setattr(writer, "RETRY_SECONDS", 0.01)
    journal = make_journal(sync)
    with monkeypatch.context() as unwritable:
        unwritable.setattr(segments, "create", refuse(errno.EACCES))
        assert not any(journal.append(line(number)) for number in (1, 2, 3))
        assert journal.kept_visits() == 3
    wait_for(lambda: found(tmp_path) == [1, 2, 3], "the visits, without another one that comes")
    assert journal.append(line(4))
    assert sorted(found(tmp_path)) == [1, 2, 3, 4]
    assert (journal.kept_visits(), journal.dropped.read()) == (0, 0)


def test_what_memory_has_no_room_for_is_dropped_and_counted(
    tmp_path: Path, make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer.UnwrittenVisits.__init__, "__defaults__", (2 * len(line(1)),))
    journal = make_journal()
    monkeypatch.setattr(segments, "create", refuse(errno.EROFS))
    assert not any(journal.append(line(number)) for number in (1, 2, 3, 4))
    assert (journal.kept_visits(), journal.dropped.read()) == (2, 2)
    journal.close()
    assert (journal.kept_visits(), journal.dropped.read()) == (0, 4)
    assert found(tmp_path) == []


def test_a_closing_journal_writes_what_it_keeps(
    tmp_path: Path, make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "RETRY_SECONDS", 3600)
    journal = make_journal()
    with monkeypatch.context() as unwritable:
        unwritable.setattr(segments, "create", refuse(errno.EIO))
        assert not journal.append(line(1))
    journal.close()
    assert (found(tmp_path), journal.dropped.read()) == ([1], 0)


def test_a_line_cut_short_on_its_way_from_memory_counts_once(
    tmp_path: Path, make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "RETRY_SECONDS", 3600)
    journal, disk = make_journal(), Disk(monkeypatch)
    with monkeypatch.context() as unwritable:
        unwritable.setattr(segments, "create", refuse(errno.EIO))
        assert not any(journal.append(line(number)) for number in (1, 2))
    disk.left = len(line(1)) + 10
    assert not journal.write_kept()
    assert journal.kept_visits() == 1
    disk.left = MUCH
    assert journal.write_kept()
    assert [number for number in found(tmp_path) if number > 0] == [1, 2]


def test_a_segment_that_can_not_be_followed_goes_on(
    tmp_path: Path, make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = make_journal(segment_bytes=300)
    assert journal.append(line(1))
    monkeypatch.setattr(segments, "create", refuse(errno.EMFILE))
    assert all(journal.append(line(number)) for number in (2, 3, 4))
    assert found(tmp_path) == [1, 2, 3, 4]
    assert len(segments.list_segments(tmp_path)) == 1
    monkeypatch.undo()
    assert all(journal.append(line(number)) for number in (5, 6, 7))
    assert found(tmp_path) == [1, 2, 3, 4, 5, 6, 7]
    assert len(segments.list_segments(tmp_path)) > 1


def test_no_reserve_is_taken_from_the_last_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = os.statvfs(tmp_path)
    few = disk_reserve.BYTES * disk_reserve.ROOM // room.f_frsize - 1
    tight = os.statvfs_result([*room[:4], few, *room[5:]])
    monkeypatch.setattr(os, "statvfs", lambda _path: tight)
    assert not disk_reserve.keep(tmp_path)
    monkeypatch.undo()
    assert disk_reserve.keep(tmp_path)
    assert disk_reserve.keep(tmp_path), "there already"


def test_half_a_reserve_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "posix_fallocate", refuse(errno.ENOSPC))
    assert not disk_reserve.keep(tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_a_persistent_value_keeps_its_size(tmp_path: Path) -> None:
    board = persistent_value.PersistentValue(tmp_path / "board")
    assert board.read() == ""
    board.prepare()
    assert board.read() == ""
    for text in ("the disk is full", "", "short", "ö" * 300):
        board.change(lambda _before, text=text: text)  # type: ignore[misc]
        assert text.startswith(board.read().rstrip("\ufffd"))
        assert board.read() or not text
        assert (tmp_path / "board").stat().st_size == persistent_value.BYTES


def test_a_damaged_count_starts_again(tmp_path: Path) -> None:
    (tmp_path / "dropped").write_bytes(b"\x01\x02 no number\n")
    dropped = Dropped(tmp_path)
    assert dropped.read() == 0
    dropped.add(2)
    dropped.add(3)
    assert dropped.read() == 5
