"""Dumps and restores of PostgreSQL by its own programs, `pg_dump` and `psql`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from sqlalchemy import URL, make_url

from app.core.config import PREFIX, Settings
from app.core.database import CLICKS
from app.core.patience import COMMANDS, SOCKET
from app.core.postgresql import is_pooled, open_connection
from app.journal.shared_salt import DailySalt
from app.operations.backups import counts
from app.rate_limit.storages import RateLimitCount

PLAIN = ("--format=plain", "--no-owner", "--no-privileges", "--encoding=UTF8")
NOT_KEPT = (DailySalt, RateLimitCount)  # a salt that outlives its day would tell who visited


class Dumps:
    """Dumps of the schema of clicks and of all else, made in this order: `snapshot` says why."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def clicks(self, directory: Path) -> None:
        self.dump(directory / "clicks.sql", f"--schema={CLICKS}")

    def main(self, directory: Path) -> None:
        left_out = [f"--exclude-table-data=public.{model.__tablename__}" for model in NOT_KEPT]
        self.dump(directory / "main.sql", f"--exclude-schema={CLICKS}", *left_out)

    def counts(self, directory: Path) -> counts.Rows:
        return counts.rows_of_dumps(directory)

    def revisions(self, directory: Path) -> list[str]:
        with (directory / "main.sql").open(encoding="utf-8") as file:
            return sorted(rows_of(file, "alembic_version"))

    def dump(self, target: Path, *which: str) -> None:
        program = required("pg_dump", "or save the database in another way, and add --without-database")
        run_program([program, *PLAIN, *which, f"--file={target}"], self.settings)


def rows_of(lines: Iterator[str], table: str) -> Iterator[str]:
    """The first column of a table in a plain dump."""
    for line in lines:
        if line.startswith(f"COPY public.{table} "):
            break
    for line in lines:
        if line.rstrip("\n") == "\\.":
            return
        yield line.rstrip("\n").partition("\t")[0]


def restore_dumps(settings: Settings, files: Sequence[Path]) -> None:
    """Restores both dumps in one transaction. The database must be empty."""
    program = required("psql", "and run this again")
    command = [program, "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1"]
    run_program([*command, *(f"--file={file}" for file in files)], settings)


def required(name: str, otherwise: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise click.ClickException(f"{name} is not here: install PostgreSQL's client programs, {otherwise}.")
    return found


def require_no_pooler(url: URL) -> None:
    """Raises ClickException behind a pooler such as PgBouncer: `pg_dump` and `psql` change sessions, which it
    would hand on to others."""
    _, arguments = url.get_dialect()().create_connect_args(url)
    with open_connection(COMMANDS, **arguments) as connection:
        if is_pooled(connection):
            raise click.ClickException(
                f"{PREFIX}DATABASE_URL leads through a pooler: run this with PostgreSQL's own address."
            )


def run_program(command: Sequence[str], settings: Settings) -> None:
    """Runs a program of PostgreSQL. The password is in the environment: any user can list arguments."""
    limits = {name: str(value) for name, value in SOCKET.items()} | {"connect_timeout": str(COMMANDS.connect)}
    url = make_url(settings.database_url)
    require_no_pooler(url)
    url = url.update_query_dict({**limits, **url.query})
    address = url.set(drivername="postgresql", password=None).render_as_string(hide_password=False)
    environ = os.environ | ({"PGPASSWORD": url.password} if url.password else {})
    done = subprocess.run(
        [*command, f"--dbname={address}"],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        raise click.ClickException(f"{Path(command[0]).name}: {said[0]}")
