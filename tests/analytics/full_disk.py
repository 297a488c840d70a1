"""Journal and ingest on a disk that fills up and is cleared again.

`python -m tests.analytics.full_disk DISK TEMPLATE` fills DISK, so DISK must be a file system of its own. It
prints what it found as JSON.
"""

from __future__ import annotations

import errno
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from app.analytics.ingest import Ingest
from app.core.config import load_settings
from app.journal import segments
from app.journal.codec import Visit, encode
from app.journal.persistent_value import Dropped
from app.journal.writer import Journal
from tests.analytics.conftest import Tables, take_in
from tests.migrations import environ

REFUSED = 1000
# long, so that a few thousand lines fill the reserve
LINE = encode(Visit(1, 7, 1, 0, agent="a" * 512, referrer_path="/" * 512, destination="d" * 2048))


def main(disk: Path, template: Path) -> dict[str, Any]:
    shutil.copytree(template, disk, dirs_exist_ok=True)
    settings = load_settings(environ(disk))
    directory = segments.directory_of(disk)
    journal, ingest, tables = Journal(directory), Ingest(settings), Tables(settings)
    found: dict[str, Any] = {}

    acknowledged = int(journal.append(LINE))
    take_in(ingest)
    fill(disk / "ballast")
    rescued = until_refused(journal)
    acknowledged += rescued
    found |= {"reserve_gave_bytes": rescued * len(LINE), "refused": REFUSED}

    while ingest.step():
        pass
    found["waits_for_when_full"] = ingest.status().waits_for
    found["rows_when_full"] = len(tables.rows())
    journal.close()
    found["dropped_after_restart"] = Dropped(directory).read()

    (disk / "ballast").unlink()
    acknowledged += int(Journal(directory).append(LINE))
    take_in(ingest)
    return found | {
        "acknowledged": acknowledged,
        "counter": tables.counters()[7],
        "rows": len(tables.rows()),
        "waits_for": ingest.status().waits_for,
        "has_reserve_again": (directory / "reserve").exists(),
    }


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(4096))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                return


def until_refused(journal: Journal) -> int:
    """Appends until REFUSED lines were refused; returns how many were accepted."""
    taken = refused = 0
    while refused < REFUSED:
        if journal.append(LINE):
            taken += 1
        else:
            refused += 1
    return taken


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
