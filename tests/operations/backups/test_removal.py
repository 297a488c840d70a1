"""Retention of backups: what is kept, and that nothing else is ever removed."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from app.core.storage_settings import Retention, retention
from app.operations.backups.stores import FolderOfBackups, kept_names, read_names, remove_old

START = dt.datetime(2026, 1, 1, 3, 15, tzinfo=dt.UTC)


def name_at(moment: dt.datetime) -> str:
    return f"waypost-{moment:%Y%m%d-%H%M%S}.tar.gz.age"


def nightly(days: int) -> list[str]:
    return [name_at(START + dt.timedelta(days=day)) for day in range(days)]


def kept(names: list[str], keep: Retention) -> list[str]:
    return sorted(name[8:16] for name in kept_names(read_names((name, 1) for name in names), keep))


KEPT = {
    "days": (nightly(10), "3d", ["20260108", "20260109", "20260110"]),
    "weeks end on a Sunday": (nightly(31), "3w", ["20260118", "20260125", "20260131"]),
    "months": (nightly(100), "3m", ["20260228", "20260331", "20260410"]),
    "all of them together": (nightly(60), "2d 1w 3m", ["20260131", "20260228", "20260301"]),
    "a pause removes nothing": ([nightly(1)[0], nightly(90)[-1]], "2d", ["20260101", "20260331"]),
    "the newest of a day": (
        [name_at(START), name_at(START + dt.timedelta(hours=3))],
        "7d",
        ["20260101"],
    ),
    "fewer than are kept": (nightly(2), "7d 4w 6m", ["20260101", "20260102"]),
}


@pytest.mark.parametrize(("names", "keep", "expected"), KEPT.values(), ids=KEPT)
def test_what_is_kept(names: list[str], keep: str, expected: list[str]) -> None:
    assert kept(names, retention(keep)) == expected


def folder_with(folder: Path, names: list[str]) -> FolderOfBackups:
    for name in names:
        (folder / name).touch()
    return FolderOfBackups(folder)


OTHERS = [
    "waypost-before-the-move.tar.gz",
    "waypost-20260101-031500.tar.gz.old",
    "waypost-20261301-031500.tar.gz",
    ".waypost-20260101-031500.tar.gz.1234",
    "notes.txt",
]


def test_only_our_own_are_removed(tmp_path: Path) -> None:
    names = nightly(5)
    store = folder_with(tmp_path, [*names, *OTHERS])
    assert remove_old(store, retention("1d"), made=names[-1]) == names[:-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([names[-1], *OTHERS])


def test_nothing_is_removed_where_the_new_one_is_not_seen(tmp_path: Path) -> None:
    store = folder_with(tmp_path, nightly(5))
    assert remove_old(store, retention("1d"), made=name_at(START + dt.timedelta(days=6))) == []
    assert len(store.backups()) == 5


def test_the_new_one_stays_where_a_clock_was_wrong(tmp_path: Path) -> None:
    """Earlier ones may have a later time in their names."""
    names = nightly(5)
    store = folder_with(tmp_path, names)
    remove_old(store, retention("1d"), made=names[0])
    assert [each.name for each in store.backups()] == [names[0], names[-1]]


def test_all_are_kept_where_the_setting_says_so(tmp_path: Path) -> None:
    store = folder_with(tmp_path, nightly(5))
    assert remove_old(store, retention("all"), made=nightly(5)[-1]) == []
