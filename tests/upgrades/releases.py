"""Data directories of earlier releases: which there are, and how one is unpacked."""

from __future__ import annotations

import json
import subprocess
import tarfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import postgres

FOLDER = Path(__file__).with_name("releases")
DUMP, RECORD = "database.sql", "record.json"


@dataclass(frozen=True)
class Release:
    """The state that a release left: its data directory, and what its API said. `commit` is its program."""

    name: str
    commit: str
    revision: str

    def archive(self, database: str) -> Path:
        return FOLDER / self.name / f"{database}.tar.xz"


@dataclass(frozen=True)
class UnpackedRelease:
    """A data directory of its own, and its database. `record` is what `tests/upgrades/make.py` wrote."""

    data_dir: Path
    database_url: str
    record: dict[str, Any]


def list_releases() -> list[Release]:
    """All that are kept, the oldest first: days before there were versions, then versions."""
    found = [json.loads(path.read_text()) for path in FOLDER.glob("*/release.json")]
    return [Release(**each) for each in sorted(found, key=lambda each: ("." in each["name"], each["name"]))]


def unpack(release: Release, database: str, folder: Path) -> UnpackedRelease:
    with tarfile.open(release.archive(database)) as tar:
        tar.extractall(folder, filter="data")
    url = make_database(folder / DUMP) if database == "postgresql" else ""
    record = json.loads((folder / RECORD).read_text())
    return UnpackedRelease(folder / "data", url, record)


def make_database(dump: Path) -> str:
    """A database of its own with the content of a dump. It goes with the tests' server."""
    name = f"release_{uuid.uuid4().hex}"
    with postgres.started(), postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
    fill_database(name, dump)
    return postgres.address(name)


def fill_database(name: str, dump: Path) -> None:
    program = postgres.bin_directories()[0] / "psql"
    command = [program, "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1"]
    command += [f"--file={dump}", f"--dbname={postgres.address(name)}"]
    subprocess.run(command, check=True, capture_output=True)
