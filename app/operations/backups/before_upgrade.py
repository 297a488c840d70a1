"""Backup of an instance before its tables are upgraded, and the room that both take."""

# see docs/decisions/2026-11-25-backups-before-upgrades.md
from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import click
from sqlalchemy import Engine, make_url, text

from app.core import clock
from app.core.config import PREFIX, Settings
from app.core.database import clicks_path
from app.core.file_locks import is_held
from app.journal import segments
from app.operations.backups.archive import write_archive
from app.operations.backups.snapshot import COPIED_DIRECTORIES, SPARE_BYTES, snapshot
from app.operations.backups.stores import DIRECTORY, FolderOfBackups

log = logging.getLogger(__name__)

NAME = "before-upgrade-"
LEVEL = 1  # of gzip: a tenth larger than a backup by command, and packed in half the time
WAIT_SECONDS = 300.0  # for a backup that is under way
# rows without indexes, which is what a dump holds
TABLES = text("""
    SELECT coalesce(sum(pg_table_size(c.oid)), 0)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'm') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
""")


@dataclass(frozen=True)
class DiskNeed:
    """Bytes that an upgrade takes on the disk of a folder, most of them for a while."""

    folder: Path
    size: int

    @property
    def free(self) -> int:
        space = os.statvfs(self.folder)
        return space.f_bavail * space.f_frsize


@dataclass(frozen=True)
class UpgradePlan:
    """What an upgrade is about to do. `no_backup`: why none is made; "" where one is."""

    no_backup: str
    is_chosen: bool  # whether the operator has turned backups off
    backup_size: int  # at most
    needs: list[DiskNeed]


def make_plan(settings: Settings, engine: Engine) -> UpgradePlan:
    """Looks at an instance, and changes nothing."""
    databases = database_sizes(settings, engine)
    size = sum(each.size for each in databases)
    journal = folder_size(segments.path_of(settings.data_dir))
    packed = size + journal + sum(folder_size(settings.data_dir / name) for name in COPIED_DIRECTORIES)
    is_chosen = settings.upgrade_backups == 0
    no_backup = f"{PREFIX}UPGRADE_BACKUPS is 0." if is_chosen else describe_missing_dump(settings, engine)
    copied, packed = (0, 0) if no_backup else (size + journal, packed)
    return UpgradePlan(
        no_backup=no_backup,
        is_chosen=is_chosen,
        backup_size=packed,
        needs=find_needs(settings, databases, copied + packed),
    )


def find_needs(settings: Settings, databases: list[DiskNeed], backing_up: int) -> list[DiskNeed]:
    """What is needed for a while. SQLite's files are migrated when the copy of the backup is gone."""
    disk, needs = settings.data_dir.stat().st_dev, []
    migrating = 0
    for each in databases if settings.is_sqlite else ():
        if each.folder.stat().st_dev == disk:
            migrating += each.size
        else:
            needs.append(each)
    return [DiskNeed(settings.data_dir, max(backing_up, migrating) + SPARE_BYTES), *needs]


def database_sizes(settings: Settings, engine: Engine) -> list[DiskNeed]:
    """The sizes of both databases: a migration of SQLite may write each of them anew into its log."""
    if not settings.is_sqlite:
        with engine.connect() as connection:
            return [DiskNeed(settings.data_dir, int(connection.scalar(TABLES) or 0))]
    main = Path(make_url(settings.database_url).database or "")
    return [
        DiskNeed(path.parent, sum(file_size(path.with_name(path.name + end)) for end in ("", "-wal")))
        for path in (main, clicks_path(settings))
    ]


def file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def folder_size(folder: Path) -> int:
    return sum(file_size(path) for path in folder.glob("*"))


def describe_missing_dump(settings: Settings, engine: Engine) -> str:
    """Why PostgreSQL can't be dumped here; "" where it can, and on SQLite."""
    if settings.is_sqlite:
        return ""
    program = shutil.which("pg_dump")
    if program is None:
        return "pg_dump is not here."
    with engine.connect() as connection:
        server = int(connection.scalar(text("SHOW server_version_num")) or 0) // 10_000
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\b(\d+)", said)
    if found is None or int(found[1]) < server:
        return f"pg_dump is of PostgreSQL {found[1] if found else '?'}, and the server of {server}."
    return ""


def prepare_upgrade(settings: Settings, engine: Engine) -> Path | None:
    """Requires room for an upgrade, and backs the instance up. Returns the backup, None where none is made.

    Raises ClickException where there is no room, or the backup fails. Then nothing has changed.
    """
    plan = make_plan(settings, engine)
    for need in plan.needs:
        if need.free < need.size:
            raise click.ClickException(describe_lack(need, plan))
    if plan.no_backup:
        tell = log.info if plan.is_chosen else log.warning
        tell("No backup is made before the upgrade: %s", plan.no_backup)
        return None
    log.info("Before the upgrade, a backup is made in %s.", settings.data_dir / DIRECTORY)
    try:
        wait_for_other_backup(settings.data_dir)
        return back_up(settings)
    except (OSError, click.ClickException) as error:
        said = error.message if isinstance(error, click.ClickException) else str(error)
        raise click.ClickException(
            f"No backup could be made before the upgrade, so nothing was changed: {said} {advise_going_on()}"
        ) from error


def describe_lack(need: DiskNeed, plan: UpgradePlan) -> str:
    advice = "" if plan.no_backup else f" {advise_going_on()}"
    return (
        f"The upgrade has no room, so nothing was changed: {need.folder} has {need.free >> 20:,} MiB free,"
        f" and up to {need.size >> 20:,} MiB are needed for a while. Make room.{advice}"
    )


def advise_going_on() -> str:
    return f"To upgrade without a backup made here, set {PREFIX}UPGRADE_BACKUPS=0."


def wait_for_other_backup(data_dir: Path) -> None:
    """Waits for a backup that is under way. One that takes longer is reported by the next one."""
    deadline = time.monotonic() + WAIT_SECONDS
    while is_held(data_dir / "backup.lock") and time.monotonic() < deadline:
        time.sleep(0.2)


def back_up(settings: Settings) -> Path:
    """Writes the backup, and removes the oldest of those before it."""
    directory = settings.data_dir / DIRECTORY
    directory.mkdir(mode=0o700, exist_ok=True)
    with snapshot(settings, has_secret=False, has_database=True) as copy:
        revisions = "-".join(copy.manifest.revisions)
        name = f"{NAME}{clock.now():%Y%m%d-%H%M%S}-{revisions}.tar.gz"
        with FolderOfBackups(directory).create(name) as out:
            write_archive(copy, out, level=LEVEL)
    for left in (*list_backups(directory)[: -settings.upgrade_backups], *directory.glob(f".{NAME}*")):
        left.unlink(missing_ok=True)
    return directory / name


def list_backups(directory: Path) -> list[Path]:
    """The backups from before upgrades, the oldest first."""
    return sorted(directory.glob(f"{NAME}*.tar.gz"))
