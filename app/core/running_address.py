"""Where the running instance of a data directory can be reached, for commands of other processes.

`serve` writes its address into the lock file that it holds alone; it counts as long as the lock is held.
"""

from __future__ import annotations

import os
from pathlib import Path

from app.core.file_locks import is_held

LOCK, OWNERS_LOCK = "serve.lock", "serve-owners.lock"  # the second one with `--role owners`
MAX_BYTES = 512


def note_address(lock: int, url: str) -> None:
    """Write the address into the lock file of this descriptor."""
    os.ftruncate(lock, 0)
    os.pwrite(lock, url.encode(), 0)


def running_address(data_dir: Path) -> str | None:
    """The address at which the dashboard runs; None where it does not run."""
    for path in (data_dir / OWNERS_LOCK, data_dir / LOCK):
        if is_held(path):
            with path.open("rb") as file:
                return file.read(MAX_BYTES).decode(errors="replace") or None
    return None
