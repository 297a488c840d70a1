"""Broken instances: what doctor, `/readyz` and the next start report, for each way to break one.

Doctor and `/readyz` must name what is wrong, and nothing else besides.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import Result
from flask import Flask

from app import create_app
from app.core.config import load_settings
from app.core.database_damage import FILE as DAMAGE_NOTE
from app.core.extensions import db
from app.core.file_locks import lock_file
from app.core.secret_keys import ring
from app.jobs import maintenance
from app.journal import segments
from app.journal.codec import NEWEST, Visit, encode
from app.journal.persistent_value import Dropped
from app.operations.checks import machine
from app.operations.database import RESTORING
from tests.factories import PASSWORD
from tests.geo.geo_files import write_geo_file
from tests.public.test_health import damage
from tests.server import free_port, wait_for

OTHER_KEY = "another-key-of-some-other-instance-0123456789"
OLD_MS = (time.time_ns() // 1_000_000) - 600_000
AWAY = "postgresql://nobody@127.0.0.1:1/none"


class Instance:
    """A running instance: a web process that answers `/readyz`, and a worker with a fresh heartbeat."""

    def __init__(self, data_dir: Path, settings: dict[str, str], patch: pytest.MonkeyPatch) -> None:
        self.data_dir, self.patch = data_dir, patch
        self.port = free_port()
        self.environ = {"DATA_DIR": str(data_dir), "PORT": str(self.port), **settings}
        self.serving, self.working = ExitStack(), ExitStack()
        self.web = self.start_process()

    def start_process(self) -> Flask:
        """The application that another process of this instance would make."""
        return create_app(load_settings({f"WAYPOST_{name}": text for name, text in self.environ.items()}))

    def begin(self) -> None:
        self.serving.enter_context(lock_file(self.data_dir / "serve.lock"))
        self.working.enter_context(lock_file(self.data_dir / maintenance.WORKER_LOCK))
        maintenance.beat(self.data_dir)

    def end(self) -> None:
        self.serving.close()
        self.working.close()
        close_process(self.web)

    def run(self, *arguments: str, stdin: str = "") -> Result:
        """The result of a command that is started now."""
        app = self.start_process()
        try:
            return app.test_cli_runner().invoke(args=arguments, input=stdin)
        finally:
            close_process(app)

    @property
    def journal(self) -> Path:
        return segments.directory_of(self.data_dir)

    def execute(self, name: str, statement: str, *values: object) -> None:
        with closing(sqlite3.connect(self.data_dir / name)) as connection, connection:
            connection.execute(statement, values)


def close_process(app: Flask) -> None:
    app.extensions["redirects"].close()
    app.extensions["rate_limiter"].close()
    with app.app_context():
        db.engine.dispose()


def nothing(_it: Instance) -> None:
    """Break nothing."""


def tear_line(it: Instance) -> None:
    """Leave half a last line, as a killed process does. Its request was never answered."""
    write_segment(it, encode(Visit(OLD_MS, 1, 1, 0))[:-5])


def write_segment(it: Instance, content: bytes) -> None:
    """Write a segment whose writer has ended."""
    path = it.journal / f"{time.time_ns()}-{'0' * 16}{NEWEST}"
    path.touch(mode=0o600)
    path.write_bytes(content)


def remove(*names: str) -> Callable[[Instance], None]:
    def run(it: Instance) -> None:
        for name in names:
            for end in ("", "-wal", "-shm"):
                (it.data_dir / f"{name}{end}").unlink(missing_ok=True)

    return run


def write(name: str, content: bytes, mode: int = 0o600) -> Callable[[Instance], None]:
    def run(it: Instance) -> None:
        (it.data_dir / name).write_bytes(content)
        (it.data_dir / name).chmod(mode)

    return run


def execute(name: str, statement: str, *values: object) -> Callable[[Instance], None]:
    return lambda it: it.execute(name, statement, *values)


def block_journal(it: Instance) -> None:
    shutil.rmtree(it.journal)
    (it.data_dir / "journal").touch(mode=0o600)


def delay_visit(it: Instance) -> None:
    """Write a visit of ten minutes ago to a segment that no process ingests."""
    write_segment(it, encode(Visit(OLD_MS, 1, 1, 0)))


def set_clock_back(it: Instance) -> None:
    (it.journal / f"{time.time_ns() + 10**13}-{'0' * 16}{NEWEST}").touch(mode=0o600)


def silence_worker(it: Instance) -> None:
    late = time.time() - 60
    os.utime(maintenance.heartbeat(it.data_dir), (late, late))


def fill_disk(it: Instance) -> None:
    full = os.statvfs(it.data_dir)
    few = os.statvfs_result((*full[:3], 0, 0, *full[5:]))
    it.patch.setattr(machine.os, "statvfs", lambda _path: few)


def take_port(it: Instance) -> None:
    """Let another program listen on the port while Waypost does not run."""
    it.serving.close()
    it.patch.setattr("app.operations.processes.PATIENCE_SECONDS", 0)
    other = socket.create_server(("127.0.0.1", it.port))
    it.working.callback(other.close)


@dataclass(frozen=True)
class Broken:
    """`doctor`: (level, check, a part of its message) of every check that is not ok. `ready`: the checks of
    `/readyz` that fail, with a part of each reason. `start`: part of why `command` refuses, "" if it runs."""

    breaks: Callable[[Instance], object]
    doctor: tuple[tuple[str, str, str], ...]
    ready: tuple[tuple[str, str], ...] = ()
    start: str = ""
    command: tuple[str, ...] = ("users", "list")
    settings: dict[str, str] = field(default_factory=dict)


NO_TABLES = "One of the two databases"
OTHER_KEY_SAID = "not the secret key"
BROKEN: dict[str, Broken] = {
    "nothing": Broken(nothing, ()),
    "a torn line that lost nothing": Broken(tear_line, ()),
    "main.db damaged": Broken(
        lambda it: damage(it.data_dir / "main.db", 4096),
        (("problem", "database", "main.db is damaged"),),
        (("database", "the database is damaged"),),
        "The database is damaged. Look with",
    ),
    "clicks.db damaged": Broken(
        lambda it: damage(it.data_dir / "clicks.db", 0),
        (("problem", "database", "clicks.db is damaged"),),
        (("database", "the database is damaged"),),
        "The database is damaged. Look with",
    ),
    "damage that a query met": Broken(
        write(DAMAGE_NOTE, b""),
        (("problem", "database", "a query met damage"),),
        (("database", "the database is damaged"),),
    ),
    "main.db missing": Broken(
        remove("main.db"),
        (("problem", "instance", f"{NO_TABLES} is missing"),),
        (("database", "the storage gives no answer"),),
        f"{NO_TABLES} is missing",
    ),
    "clicks.db missing": Broken(
        remove("clicks.db"),
        (("problem", "instance", f"{NO_TABLES} is missing"),),
        (("database", "the storage gives no answer"),),
        f"{NO_TABLES} is missing",
    ),
    "both databases missing": Broken(
        remove("main.db", "clicks.db"),
        (("problem", "instance", "There is no database"),),
        (("database", "the storage gives no answer"),),
    ),
    "PostgreSQL away": Broken(
        nothing,
        (("problem", "instance", "connection"),),
        (("database", "the storage gives no answer"),),
        "connection",
        settings={"DATABASE_URL": AWAY},
    ),
    "tables of an older version": Broken(
        execute("main.db", "UPDATE alembic_version SET version_num = '9d4c7a1e52b6'"),
        (("problem", "migrations", "older than this program"),),
        (("migrations", "of another version"),),
        command=(),
    ),
    "tables of a newer version": Broken(
        execute("main.db", "UPDATE alembic_version SET version_num = 'ffff'"),
        (("problem", "migrations", "a newer Waypost"),),
        (),  # it may be about to take over: a version that runs works with what the next one adds
        "a newer Waypost",
    ),
    "rows that name what is not there": Broken(
        execute(
            "main.db",
            "INSERT INTO project (workspace_id, user_id, name, color, datetime) VALUES (99, 99, 'x', '#000000', '2026-01-01')",
        ),
        (("problem", "database", "1 row of project"),),
    ),
    "a lost secret key, beside a process that knows it": Broken(
        remove("secret_key"),
        (("problem", "secret", "The secret key is missing"),),
        start="The secret key is missing",
    ),
    "another secret key": Broken(
        write("secret_key", OTHER_KEY.encode()),
        (("problem", "secret", "This is not the secret key"),),
        (("secret_key", OTHER_KEY_SAID),),
        "This is not the secret key",
    ),
    "an empty secret key": Broken(
        write("secret_key", b""),
        (("problem", "secret", "The secret key is missing"),),
        start="secret_key is empty",
    ),
    "a readable secret key": Broken(
        lambda it: (it.data_dir / "secret_key").chmod(0o644),
        (("problem", "files", "secret_key has the mode 644"),),
    ),
    "a file in the place of the journal": Broken(
        block_journal,
        (("problem", "files", "it is no folder"), ("problem", "journal", "Not a directory")),
        (("journal", "the journal can't be written to (File exists)"),),
    ),
    "visits dropped": Broken(
        lambda it: Dropped(it.journal).add(3),
        (("warning", "journal", "3 clicks could not be written"),),
        (("journal", "dropped in the last minutes"),),
    ),
    "visits that wait": Broken(
        delay_visit,
        (("warning", "journal", "A click has waited for"),),
        (("journal", "visits wait to be counted"),),
    ),
    "visits of limited links that wait": Broken(
        execute(
            "main.db",
            "INSERT INTO limited_visit (version, line) VALUES (?, ?)",
            NEWEST,
            encode(Visit(OLD_MS, 1, 1, 0)),
        ),
        (("warning", "limited", "1 click of limited links wait"),),
        (("limited", "visits of limited links wait"),),
    ),
    "segments of a newer version": Broken(
        lambda it: (it.journal / f"{time.time_ns()}-{'0' * 16}.v9").touch(mode=0o600),
        (("warning", "journal", "1 segment of the journal are of a newer version"),),
    ),
    "a worker that was killed just now": Broken(
        lambda it: it.working.close(),
        (("problem", "processes", "the worker has not been heard of"),),
        (("worker", "no worker runs"),),
    ),
    "a worker that hangs": Broken(
        silence_worker,
        (("problem", "processes", "has not been heard of for 60 s"),),
        (("worker", "has not been heard of for 60 s"),),
    ),
    "Redis away": Broken(
        nothing,
        (("problem", "redis", "Redis does not answer"),),
        (("redis", "Redis gives no answer"),),
        settings={"REDIS_URL": "redis://127.0.0.1:1/0"},
    ),
    "a clock that went back": Broken(set_clock_back, (("problem", "clock", "Visits were written"),)),
    "no room on the disk": Broken(fill_disk, (("problem", "space", "0.0 GB are free"),)),
    "an interrupted restore": Broken(
        write(RESTORING, b""),
        (("problem", "files", "A restore was interrupted"),),
        start="A restore was interrupted",
    ),
    "an own host that is not trusted": Broken(
        nothing,
        (("problem", "settings", "TRUSTED_HOSTS lacks the host"),),
        settings={"TRUSTED_HOSTS": "other.example", "BASE_URL": "http://go.example"},
    ),
    "a setting that is none": Broken(
        nothing, (("warning", "settings", "WAYPOST_PROT is not a setting"),), settings={"PROT": "80"}
    ),
    "statistics that know less than was counted": Broken(
        execute("clicks.db", "INSERT INTO counter VALUES (1, 5)"),
        (("problem", "counts", "1 link have more clicks"),),
    ),
    "a damaged file of places": Broken(
        write("geo.mmdb", b"x" * 1000), (("problem", "places", "is damaged"),)
    ),
    "a port that another program has": Broken(
        take_port,
        (("warning", "processes", "is in use by another program"),),
        start="is in use by another program",
        command=("serve",),
    ),
}


@pytest.fixture(scope="module")
def with_account(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Path:
    """A data directory with an account."""
    data_dir = tmp_path_factory.mktemp("broken") / "data"
    shutil.copytree(sqlite_template, data_dir)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.accounts.hashing.WAIT_SECONDS", 60)
        made = Instance(data_dir, {}, patch)
        done = made.run("users", "create", "--email", "a@example.com", "--password-stdin", stdin=PASSWORD)
        assert done.exit_code == 0, done.output
        made.end()
    return data_dir


@pytest.fixture
def instance(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    sqlite_template: Path,
    with_account: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Instance]:
    """An instance with an account, a geolocation file, and files that only its user can read."""
    broken: Broken = request.param
    monkeypatch.setattr(ring, "CHECK_SECONDS", 0.0)
    data_dir = tmp_path / "data"
    shutil.copytree(sqlite_template if "DATABASE_URL" in broken.settings else with_account, data_dir)
    write_geo_file(data_dir / "geo.mmdb")
    it = Instance(data_dir, broken.settings, monkeypatch)
    it.begin()
    for path in [data_dir, *data_dir.rglob("*")]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o077)
    yield it
    it.end()


def told_by_doctor(done: Result) -> list[tuple[str, str, str]]:
    found = [(line["level"], line["check"], line["detail"]) for line in json.loads(done.stdout)]
    assert done.exit_code == (1 if any(level == "problem" for level, _, _ in found) else 0)
    return [line for line in found if line[0] != "ok"]


def told_by_readyz(web: Flask) -> list[tuple[str, str]]:
    answer = web.test_client().get("/readyz")
    assert answer.json
    wrong = [(name, check["detail"]) for name, check in answer.json["checks"].items() if not check["ok"]]
    assert answer.status_code == (503 if wrong else 200)
    return wrong


def knows_places(web: Flask) -> bool:
    """Whether the file of places has been read through. A busy machine may also give no answer in time."""
    answer = web.test_client().get("/readyz")
    assert answer.json
    return answer.json["checks"]["places"].get("state", "checking") != "checking"


@pytest.mark.parametrize(
    ("instance", "broken"), [(each, each) for each in BROKEN.values()], ids=BROKEN, indirect=["instance"]
)
def test_what_is_said(instance: Instance, broken: Broken) -> None:
    # as if it had run before it broke, long enough for its file of places to be read through
    wait_for(lambda: knows_places(instance.web), "the places")
    broken.breaks(instance)
    wrong = told_by_readyz(instance.web)
    if not any(name == "database" for name, _ in broken.ready):  # without it others can't check either
        assert [name for name, _ in wrong] == [name for name, _ in broken.ready]
    for name, part in broken.ready:
        assert any(each == name and part in str(detail) for each, detail in wrong), wrong
    found = told_by_doctor(instance.run("doctor", "--json"))
    assert [line[:2] for line in found] == [line[:2] for line in broken.doctor], found
    assert all(part in detail for (*_, detail), (*_, part) in zip(found, broken.doctor, strict=True)), found
    if broken.command:
        started = instance.run(*broken.command)
        assert started.exception is None or isinstance(started.exception, SystemExit)
        assert (started.exit_code == 1) == bool(broken.start), started.output
        assert broken.start in started.output
