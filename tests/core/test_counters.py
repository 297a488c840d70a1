"""Counters of processes: summed over all of them, and kept when one ends."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import threading
from pathlib import Path

import pytest

from app.core import counters as module
from app.core.counters import BOUNDS, FOLDER, LAYOUT, MAX_VALUE, Counters, InstanceCounts

FORK = multiprocessing.get_context("fork")


def opened(data_dir: Path, kind: str = "web") -> Counters:
    made = Counters()
    made.open(data_dir, kind)
    return made


def work_and_die(data_dir: Path) -> None:
    made = opened(data_dir)
    made.add("cache misses", 5)
    made.set("connections in use", 3)
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_sums_of_two_processes(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path, "worker")
    first.add("cache misses", 2)
    second.add("cache misses", 3)
    found = InstanceCounts(tmp_path)
    assert found.get("cache misses") == 5
    assert (found.get("processes web"), found.get("processes worker")) == (1, 1)


def test_a_killed_process_leaves_its_totals_and_not_its_gauges(tmp_path: Path) -> None:
    child = FORK.Process(target=work_and_die, args=(tmp_path,))
    child.start()
    child.join()
    found = InstanceCounts(tmp_path)
    assert (found.get("cache misses"), found.get("connections in use"), found.get("processes web")) == (
        5,
        0,
        0,
    )
    opened(tmp_path).add("cache misses")
    assert InstanceCounts(tmp_path).get("cache misses") == 6
    assert len(list((tmp_path / FOLDER).iterdir())) == 1, "the next process takes the file over"


@pytest.mark.parametrize(
    ("seconds", "at"),
    [(0.0, 0), (0.00005, 0), (0.000051, 1), (0.001, 3), (9.0, len(BOUNDS) - 1), (11.0, len(BOUNDS))],
)
def test_the_class_of_a_duration(tmp_path: Path, seconds: float, at: int) -> None:
    opened(tmp_path).count_duration("api", round(seconds * 1e9))
    counts, total = InstanceCounts(tmp_path).durations("api")
    assert (counts.index(1), sum(counts), total) == (at, 1, pytest.approx(seconds))


def test_threads_lose_no_redirect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "counters", opened(tmp_path))
    monkeypatch.setattr(module, "_this_thread", module.ThreadCells())

    def work() -> None:
        for _ in range(20_000):
            module.count_redirect(2_000_000)

    threads = [threading.Thread(target=work) for _ in range(module.REDIRECT_THREADS + 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found, expected = InstanceCounts(tmp_path), 20_000 * len(threads)
    assert found.get("requests redirect 3xx") == found.get("cache hits") == expected
    counts, total = found.durations("redirect")
    assert (sum(counts), total) == (expected, pytest.approx(expected * 0.002))


def test_a_full_disk_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", no_space)
    made = opened(tmp_path)
    made.add("cache misses")
    assert InstanceCounts(tmp_path).get("cache misses") == 0


def test_files_of_other_versions_go_when_their_process_has_ended(tmp_path: Path) -> None:
    directory = tmp_path / FOLDER
    directory.mkdir()
    (directory / "otherlayout.0").touch()
    held = module.os.open(directory / "otherlayout.1", os.O_RDWR | os.O_CREAT)
    module.fcntl.flock(held, module.fcntl.LOCK_EX)
    opened(tmp_path)
    assert sorted(path.name for path in directory.iterdir()) == sorted(["otherlayout.1", f"{LAYOUT}.0"])
    os.close(held)


def test_a_total_that_overflows_begins_anew(tmp_path: Path) -> None:
    made = opened(tmp_path)
    made.add("cache misses", MAX_VALUE)
    made.add("cache misses", 2)
    assert InstanceCounts(tmp_path).get("cache misses") == 1


def test_without_processes_all_is_zero(tmp_path: Path) -> None:
    assert not any(InstanceCounts(tmp_path).cells)
    assert not (tmp_path / FOLDER).exists(), "reading makes nothing"
