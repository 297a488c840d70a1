"""How does what was unpacked become the instance of this data directory, all of it or nothing?"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from sqlalchemy import inspect, make_url

from app import clock
from app.cli.backups import postgres
from app.cli.backups.keys import describe_without, holds_other_keys, key_files, write_keys
from app.cli.backups.manifest import ENCRYPTED_KEYS, PLAIN_KEY, Manifest, Unfit
from app.cli.database import RESTORING, migrate_tables, scripts
from app.config import PREFIX, ROOT, Settings
from app.database import CLICKS, clicks_path
from app.database_damage import forget_damage
from app.extensions import db
from app.journal import segments

DRAFT = ".restore-"
# what an instance consists of, and a start alone does not make; visitors' keys stay, each night sweeps them
FOLDERS = ("journal", "uploads", "replaced", "imports")
BESIDE = ("-wal", "-shm")


def require_fit(made: Manifest, settings: Settings) -> None:
    """Raises Unfit for a backup of another kind of database, or of a newer Waypost."""
    kind = "sqlite" if settings.is_sqlite else "postgresql"
    if made.database != kind:
        raise Unfit(f"This backup is of an instance on {made.database}; {PREFIX}DATABASE_URL is {kind}.")
    if set(made.revisions) - {revision.revision for revision in scripts().walk_revisions()}:
        raise Unfit(f"A newer Waypost ({made.version}) made this backup: install that one first.")


def places(settings: Settings) -> dict[str, Path]:
    """Where each member of a backup belongs that is not in DATA_DIR under its own name."""
    if not settings.is_sqlite:
        return {}
    main = Path(make_url(settings.database_url).database or "")
    return {"clicks.db": clicks_path(settings), "main.db": main}


def occupied(settings: Settings) -> list[Path]:
    """What is of an instance that is here already."""
    files = [path.with_name(path.name + end) for path in places(settings).values() for end in ("", *BESIDE)]
    folders = [settings.data_dir / name for name in FOLDERS]
    is_used = {folder: any(is_content(path) for path in folder.glob("*")) for folder in folders}
    return [path for path in files if path.exists()] + [path for path, used in is_used.items() if used]


def is_content(path: Path) -> bool:
    """Not what every start makes in a journal: locks, a reserve, slates."""
    return path.parent.name != "journal" or segments.version_of(path.name) is not None


def is_interrupted(settings: Settings) -> bool:
    return (settings.data_dir / RESTORING).exists()


def require_empty(settings: Settings) -> None:
    """Raises ClickException where there is an instance already."""
    if found := occupied(settings):
        raise click.ClickException(
            f"There is an instance already ({found[0]}). With --force it is moved aside, and stays."
        )
    if not settings.is_sqlite:
        require_empty_database()


def require_empty_database() -> None:
    with db.engine.connect() as connection:
        looked = inspect(connection)
        if looked.has_table("alembic_version") or CLICKS in looked.get_schema_names():
            raise click.ClickException("The database is not empty. Make a new one, and name that.")


def migrated(directory: Path) -> None:
    """Bring the copy to the newest revision, and look whether it is sound. Raises Unfit."""
    for name in ("main.db", "clicks.db"):
        with contextlib.closing(sqlite3.connect(directory / name)) as connection:
            try:
                found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            except sqlite3.DatabaseError as error:
                found = str(error)
        if found != "ok":
            raise Unfit(f"{name} of this backup is damaged: {found}")
    upgrade(directory)


def upgrade(directory: Path) -> None:
    """In a process of its own, for which the copy is the instance."""
    own = {"DATA_DIR": str(directory), "DATABASE_URL": "", "CLICKS_URL": "", "DATABASE_URL_FILE": ""}
    environ = os.environ | {PREFIX + name: value for name, value in own.items()}
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "db", "upgrade"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unfit(f"It can't be brought up to date: {(done.stderr.splitlines() or ['?'])[-1]}")


def put_in_place(
    made: Manifest, directory: Path, settings: Settings, keys: Sequence[str], *, force: bool
) -> Path | None:
    """Move what was unpacked to where it belongs, main.db last; where the old instance went, if anywhere.

    Killed meanwhile, nothing starts on what is half there, and a second restore goes on from the backup.
    """
    marker, aside = settings.data_dir / RESTORING, None
    was_interrupted = marker.exists()
    marker.touch()
    segments.sync_directory(settings.data_dir)
    if force or was_interrupted:
        aside = moved_aside(settings, keys)
    with settled(settings.data_dir):
        where = places(settings)
        for name in sorted(made.files, key=lambda name: (name in where, name)):
            if not name.endswith(".sql") and name not in {PLAIN_KEY, ENCRYPTED_KEYS}:
                put(directory / name, where.get(name, settings.data_dir / name))
        if settings.secret_key_dir is not None:
            write_keys(settings.data_dir, keys)
        if not settings.is_sqlite and made.revisions:
            postgres.restore(settings, [directory / "clicks.sql", directory / "main.sql"])
            migrate_anyway()
    forget_damage(settings.data_dir)
    marker.unlink()
    return aside


def migrate_anyway() -> None:
    db.session.remove()
    db.engine.dispose()
    migrate_tables(is_restoring=True)


@contextlib.contextmanager
def settled(data_dir: Path) -> Iterator[None]:
    """What was moved is on the disk before the mark that it is not goes."""
    yield
    for folder in (data_dir, *(data_dir / name for name in FOLDERS)):
        if folder.exists():
            segments.sync_directory(folder)


def moved_aside(settings: Settings, keys: Sequence[str]) -> Path | None:
    """What is here already; its secret key, too, where the backup needs another one."""
    found = occupied(settings)
    if keys and holds_other_keys(settings.data_dir, keys):
        found += key_files(settings.data_dir)
    if not found:
        return None
    aside = settings.data_dir / f"before-restore-{clock.now():%Y%m%d-%H%M%S}"
    aside.mkdir(mode=0o700)
    for path in found:
        put(path, aside / path.name)
    return aside


def put(source: Path, target: Path) -> None:
    """Rename, or where that leads to another disk copy first and rename then."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        draft = target.with_name(f".{target.name}.restoring")
        shutil.copyfile(source, draft)
        draft.chmod(0o600)
        draft.replace(target)
        source.unlink()


def warnings(made: Manifest, *, is_without_secret: bool) -> Iterator[str]:
    """What an operator should know before they start it."""
    if is_without_secret:
        yield describe_without(made)
    elif not made.keys and PLAIN_KEY not in made.files:
        yield "The backup names no secret key: without the one of that time, what is encrypted can't be read."
    if not made.revisions:
        yield "The backup is without the database: bring that back by the way it was saved in."
