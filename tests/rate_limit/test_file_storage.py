"""The file of counts: several processes may open it for the first time at once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from app.rate_limit import file_storage as module
from app.rate_limit.file_storage import FileStorage


def test_a_new_file_that_another_process_prepares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite waits for other locks, but refuses at once to switch to the log while another does."""
    path = tmp_path / "counts.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    looks: list[float] = []

    def let_go(seconds: float) -> None:
        looks.append(seconds)
        other.execute("ROLLBACK")

    monkeypatch.setattr(module.time, "sleep", let_go)
    storage = FileStorage(path)
    assert [storage.acquire_entry("alice", 3, 600) for _ in range(4)] == [True, True, True, False]
    assert len(looks) == 1
    storage.close()
    other.close()


def test_one_that_stays_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "counts.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.05)
    storage = FileStorage(path)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        storage.acquire_entry("alice", 3, 600)
    other.execute("ROLLBACK")
    assert storage.acquire_entry("alice", 3, 600)  # the next try begins anew
    storage.close()
    other.close()
