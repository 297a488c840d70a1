"""The daily salt: one key a day, the same for all processes, deleted an hour after its day."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

from app.journal import daily_salt
from app.journal.daily_salt import day_key, sweep_keys, visitor_hash
from tests.journal.children import Child, forks

DAY = dt.date(2026, 11, 20)
NEXT = dt.date(2026, 11, 21)
KEY = bytes(range(32))


def test_a_days_key_is_made_once_and_kept_private(tmp_path: Path) -> None:
    key = day_key(tmp_path, DAY)
    assert len(key) == daily_salt.KEY_BYTES
    assert day_key(tmp_path, DAY) == key
    assert day_key(tmp_path, NEXT) != key
    assert day_key(tmp_path, DAY) == key, "as another process reads it"
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == ["2026-11-20", "2026-11-21"]
    assert (tmp_path / "keys" / "2026-11-20").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


@forks
def test_the_first_process_wins(tmp_path: Path) -> None:
    read, write = os.pipe()
    children = [Child(lambda: os.write(write, day_key(tmp_path, DAY))) for _ in range(8)]
    assert [child.wait() for child in children] == [0] * 8
    os.close(write)
    assert os.read(read, 4096) == day_key(tmp_path, DAY) * 8
    os.close(read)
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["2026-11-20"]


def test_the_loser_of_a_race_takes_the_winners_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.link

    def be_late(draft: Path, path: Path) -> None:
        path.write_bytes(KEY)
        real(draft, path)

    monkeypatch.setattr(os, "link", be_late)
    assert day_key(tmp_path, DAY) == KEY
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["2026-11-20"]


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


SWEPT = {
    "in the middle of the day": ("2026-11-20 12:00Z", []),
    "at midnight": ("2026-11-21 00:00Z", []),
    "a second before the hour is over": ("2026-11-21 00:59:59Z", []),
    "an hour after": ("2026-11-21 01:00Z", [DAY]),
    "in another zone": ("2026-11-20 20:00-05:00", [DAY]),
    "a week later": ("2026-11-28 12:00Z", [DAY, NEXT]),
}


@pytest.mark.parametrize(("now", "gone"), SWEPT.values(), ids=SWEPT.keys())
def test_keys_go_an_hour_after_their_day(tmp_path: Path, now: str, gone: list[dt.date]) -> None:
    keys = {day: day_key(tmp_path, day) for day in (DAY, NEXT)}
    assert sorted(sweep_keys(tmp_path, at(now))) == gone
    assert {path.name for path in (tmp_path / "keys").iterdir()} == {
        day.isoformat() for day in (DAY, NEXT) if day not in gone
    }
    for day, key in keys.items():
        assert (day_key(tmp_path, day) == key) == (day not in gone), "a key once gone never comes back"


def test_drafts_of_killed_processes_go_too_and_nothing_else(tmp_path: Path) -> None:
    day_key(tmp_path, DAY)
    (tmp_path / "keys" / ".2026-11-20~00ff").touch()
    (tmp_path / "keys" / "README").touch()
    sweep_keys(tmp_path, at("2026-11-21 02:00Z"))
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["README"]


def test_a_file_without_a_key_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / DAY.isoformat()).touch()
    with pytest.raises(OSError, match="holds no key"):
        day_key(tmp_path, DAY)


def test_a_full_disk_has_no_key_until_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_fd: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space"):
        day_key(tmp_path, DAY)
    assert [*(tmp_path / "keys").iterdir()] == [], "no draft is left behind"
    monkeypatch.undo()
    assert len(day_key(tmp_path, DAY)) == daily_salt.KEY_BYTES


VISITORS = {
    "the visitor": (KEY, "192.0.2.1", b"Mozilla/5.0", 7),
    "another key": (bytes(32), "192.0.2.1", b"Mozilla/5.0", 7),
    "another address": (KEY, "192.0.2.2", b"Mozilla/5.0", 7),
    "another agent": (KEY, "192.0.2.1", b"Mozilla/5.0 ", 7),
    "another owner": (KEY, "192.0.2.1", b"Mozilla/5.0", 8),
    "the border between fields": (KEY, "92.0.2.1", b"Mozilla/5.0", 71),
    "an agent that is no text": (KEY, "192.0.2.1", b"\xff", 7),
    "no agent": (KEY, "192.0.2.1", b"", 7),
}


def test_whoever_differs_has_another_hash() -> None:
    hashes = [visitor_hash(*visitor) for visitor in VISITORS.values()]
    assert len(set(hashes)) == len(VISITORS)
    assert hashes == [visitor_hash(*visitor) for visitor in VISITORS.values()]
    assert {len(each) for each in hashes} == {11}
