"""Dumps and restores of PostgreSQL by its own programs, `pg_dump` and `psql`."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from sqlalchemy import URL, Connection, NullPool, create_engine, make_url, text
from sqlalchemy.exc import ProgrammingError

from app.core.config import PREFIX, Settings
from app.core.database import CLICKS, prepare_engine
from app.core.patience import COMMANDS, SOCKET, WORK
from app.core.postgresql import is_pooled, open_connection
from app.journal.shared_salt import DailySalt
from app.rate_limit.storages import RateLimitCount

PLAIN = ("--format=plain", "--no-owner", "--no-privileges", "--encoding=UTF8")
NOT_KEPT = (DailySalt, RateLimitCount)  # a salt that outlives its day would tell who visited
REHEARSAL = "waypost_rehearsal_"
REHEARSAL_NAME = re.compile(rf"{REHEARSAL}(\d{{1,12}})_[0-9a-f]{{8}}", re.ASCII)
ABANDONED_SECONDS = 24 * 3600


class Dumps:
    """Dumps of the schema of clicks and of all else, made in this order: `snapshot` says why."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def clicks(self, directory: Path) -> None:
        self.dump(directory / "clicks.sql", f"--schema={CLICKS}")

    def main(self, directory: Path) -> None:
        left_out = [f"--exclude-table-data=public.{model.__tablename__}" for model in NOT_KEPT]
        self.dump(directory / "main.sql", f"--exclude-schema={CLICKS}", *left_out)

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


def restore_dumps(settings: Settings, directory: Path) -> None:
    """Restores both dumps in one transaction. The database must be empty."""
    program = required("psql", "and run this again")
    command = [program, "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1"]
    run_program([*command, *(f"--file={directory / name}" for name in ("clicks.sql", "main.sql"))], settings)


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


@contextlib.contextmanager
def rehearsal_database(settings: Settings) -> Iterator[str | None]:
    """The address of a new, empty database on the server; None where its user may make none."""
    name = f"{REHEARSAL}{int(time.time())}_{secrets.token_hex(4)}"
    engine = create_engine(settings.database_url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    prepare_engine(engine, settings, patience=WORK)
    try:
        with engine.connect() as connection:
            drop_abandoned(connection)
            connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0"))
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", "") != "42501":  # insufficient_privilege
            raise
        yield None
        return
    try:
        url = make_url(settings.database_url).set(database=name)
        yield url.render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        engine.dispose()


def drop_abandoned(connection: Connection) -> None:
    """Drops the databases that killed rehearsals left a day ago or more."""
    names = connection.execute(
        text(
            "SELECT datname FROM pg_database"
            " WHERE datname LIKE :start AND pg_get_userbyid(datdba) = current_user"
        ),
        {"start": f"{REHEARSAL}%"},
    )
    for name in names.scalars().all():
        match = REHEARSAL_NAME.fullmatch(name)
        if match and int(match[1]) < time.time() - ABANDONED_SECONDS:
            connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
