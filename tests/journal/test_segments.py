"""Segments: their names, live and dead writers, and which drafts are removed."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from app.core.file_locks import lock_file
from app.journal import segments

SOUND = "1795000000000000000-00112233aabbccdd"
NAMES = {
    f"{SOUND}.v1": ".v1",
    f"{SOUND}.v27": ".v27",
    f"{SOUND}.new": None,
    f"{SOUND}.v": None,
    "179500000-00112233aabbccdd.v1": None,
    f"{SOUND.upper()}.v1": None,
    f"x{SOUND}.v1": None,
    f"{SOUND}.v1~": None,
    "reserve": None,
    "keep.lock": None,
}


@pytest.mark.parametrize(("name", "version"), NAMES.items())
def test_names(name: str, version: str | None) -> None:
    assert segments.version_of(name) == version


def test_a_new_segment_is_named_locked_and_ours(tmp_path: Path) -> None:
    fd = segments.create(tmp_path)
    [name] = segments.list_segments(tmp_path)
    assert os.fstat(fd).st_ino == (tmp_path / name).stat().st_ino
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert not os.get_inheritable(fd)
    assert fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND
    with (tmp_path / name).open("rb") as reader:
        assert not segments.is_abandoned(reader.fileno())
        os.close(fd)
        assert segments.is_abandoned(reader.fileno())
        assert segments.is_abandoned(reader.fileno()), "asking must not take the lock"


def test_segments_are_listed_oldest_first_and_unknown_ones_apart(tmp_path: Path) -> None:
    for name in ("2" * 19 + "-" + "0" * 16 + ".v1", "1" * 19 + "-" + "f" * 16 + ".v1", f"{SOUND}.v9"):
        (tmp_path / name).touch()
    (tmp_path / "reserve").touch()
    assert [name[0] for name in segments.list_segments(tmp_path)] == ["1", "2"]
    assert segments.list_unknown_segments(tmp_path) == [f"{SOUND}.v9"]


def test_a_swept_draft_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, swept = fcntl.flock, []

    def sweep_first(fd: int, how: int) -> None:
        if not swept:
            swept.extend(tmp_path.glob("*.new"))
            swept[0].unlink()
        real(fd, how)

    monkeypatch.setattr(fcntl, "flock", sweep_first)
    os.close(segments.create(tmp_path))
    [name] = segments.list_segments(tmp_path)
    assert swept[0].stem != Path(name).stem


def test_sweeping_takes_only_old_drafts_of_the_dead(tmp_path: Path) -> None:
    dead, young, living = (tmp_path / f"{digit * 19}-{'0' * 16}.new" for digit in "123")
    for draft in (dead, young, living):
        draft.touch()
    (tmp_path / f"{SOUND}.v1").touch()
    old = time.time() - 2 * segments.DRAFT_SECONDS
    os.utime(dead, (old, old))
    os.utime(living, (old, old))
    with living.open("rb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        assert segments.sweep(tmp_path, time.time()) == [dead.name]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [young.name, living.name, f"{SOUND}.v1"]
    )


def test_locks(tmp_path: Path) -> None:
    path = tmp_path / "keep.lock"
    removal = segments.removal_lock
    with lock_file(path) as backup, lock_file(path) as other, removal(tmp_path) as ingester:
        assert (backup, other, ingester) == (True, False, False)
    with removal(tmp_path) as ingester, removal(tmp_path) as other, lock_file(path) as backup:
        assert (ingester, other, backup) == (True, True, False)
