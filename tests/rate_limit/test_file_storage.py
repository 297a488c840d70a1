"""The file of counts: any number of processes may open it for the first time at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from app.rate_limit.file_storage import FileStorage

OPENERS = 6


def test_a_new_file_is_opened_by_several_at_once(tmp_path: Path) -> None:
    """SQLite itself refuses all but one of those that switch a file to its log at the same time."""
    barrier = Barrier(OPENERS)

    def count(storage: FileStorage) -> bool:
        barrier.wait()
        return storage.acquire_entry("alice", 3, 600)

    with ThreadPoolExecutor(OPENERS) as pool:
        for number in range(50):  # without the fix, one of sixteen files fails
            storages = [FileStorage(tmp_path / f"{number}.db") for _ in range(OPENERS)]
            assert sorted(pool.map(count, storages)) == [False] * 3 + [True] * 3
            for storage in storages:
                storage.close()
