"""Backups: they hold all of an instance, and a restore brings back all of it or changes nothing."""

from __future__ import annotations

import contextvars
import hashlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from flask import Flask

from app import create_app
from app.core import clock, database_damage
from app.core.config import load_settings
from app.core.folders import ROOT
from app.core.secret_keys.ring import fingerprint, replace_key
from app.journal import daily_salt
from app.operations.backups.archive import parse_manifest
from app.operations.backups.restoring import PER_SECOND
from tests import postgres
from tests.commands import run_command
from tests.crowds import Owner
from tests.migrations import environ
from tests.server import Server, wait_for
from tests.test_kills import Crowd, ask, counted_visits

MakeServer = Callable[..., Server]
Run = Callable[..., Result]
KEY = "a secret of the tests"


@pytest.fixture
def run(app: Flask) -> Run:
    return lambda *arguments: app.test_cli_runner().invoke(args=[str(each) for each in arguments])


@pytest.fixture
def other(tmp_path: Path) -> Server:
    """Settings of another instance that does not exist yet."""
    return Server(tmp_path / "other")


def contents(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def written(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def refused(server: Server, *arguments: str, stdin: bytes = b"") -> str:
    done = run_command(arguments, ROOT, server.environ, stdin)
    said = done.stderr.decode()
    assert (done.returncode, "Traceback" in said) == (1, False), said
    return said


class NotedCrowd(Crowd):
    """Visitors who record when each of them got the response."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.when: dict[str, float] = {}

    def note(self, number: str, status: int) -> None:
        super().note(number, status)
        self.when[number] = time.time()


@pytest.mark.full
def test_under_load_each_visit_is_there_once(make_server: MakeServer, other: Server, tmp_path: Path) -> None:
    """A plain and a limited link are visited, and links made, during the copy, which counts each visit once."""
    server = make_server(API_RATE_LIMIT="0")
    owner = Owner(server)
    owner.make_link(url="hot", location_url="https://example.com/")
    limited = owner.make_link(url="limited", location_url="https://example.com/", clicks_limit=100_000)
    crowd, few = NotedCrowd(server.port), NotedCrowd(server.port)
    few.path = "limited"
    threads = crowd.come(until=60_000) + few.come(until=60_000)
    wait_for(lambda: len(crowd.answered) > 500 and len(few.answered) > 100, "visits")
    stop = threading.Event()
    maker = threading.Thread(target=make_links, args=(owner, server, stop))
    maker.start()
    archives = []
    for number in range(2):
        archives.append(tmp_path / f"{number}.tar.gz")
        server.flask("backup", str(archives[-1]))
    shutil.copy(server.data_dir / "secret_key", tmp_path / "secret_key")
    stop.set()
    maker.join()
    crowd.stop()
    few.stop()
    for thread in threads:
        thread.join()
    for archive in archives:
        check_copy(archive, crowd, few, limited, Server(tmp_path / archive.stem))


def make_links(owner: Owner, server: Server, stop: threading.Event) -> None:
    """Makes links and visits each at once: the copy must hold no visit of a link that it does not have."""
    while not stop.wait(0.05):
        number = owner.make_link(location_url="https://example.com/")
        alias = owner.session.get(f"{owner.site}/links/{number}", timeout=60).json()["data"]["url"]
        one = Crowd(server.port)
        one.path = alias
        for thread in one.come(until=3):
            thread.join()


def check_copy(archive: Path, crowd: NotedCrowd, few: NotedCrowd, limited: int, copy: Server) -> None:
    as_of = json.loads(contents(archive)["manifest.json"])["as_of"]
    key_file = archive.with_name("secret_key")
    copy.flask("restore", str(archive), "--key-file", str(key_file))
    copy.start()
    early = {number for number, when in crowd.when.items() if when < as_of}
    wait_for(lambda: hot_clicks(copy) >= len(early), "the clicks")
    copy.stop()  # which ingests all there is
    assert len(early) > 500, "something was there to be lost"
    counted = counted_visits(copy, 1)
    assert {number: n for number, n in counted.items() if n != 1} == {}
    assert early - set(counted) == set(), "none lost"
    assert set(counted) <= {str(number) for number in range(1, crowd.asked + 1)}
    assert hot_clicks(copy) == len(counted)

    few_early = {number for number, when in few.when.items() if when < as_of}
    few_counted = counted_visits(copy, limited)
    assert {number: n for number, n in few_counted.items() if n != 1} == {}
    assert few_early - set(few_counted) == set()
    with sqlite3.connect(copy.data_dir / "main.db") as main:
        used = main.execute("SELECT clicks FROM limit_counter WHERE link_id = ?", [limited]).fetchone()[0]
        links = {row[0] for row in main.execute("SELECT id FROM link")}
    main.close()
    assert used == len(few_counted)
    assert {row[0] for row in ask(copy, "SELECT link_id FROM counter")} <= links, "a visit without its link"


def hot_clicks(server: Server) -> int:
    return int(str(ask(server, "SELECT coalesce(sum(clicks), 0) FROM counter WHERE link_id = 1")[0][0]))


@pytest.fixture
def with_key(tmp_path: Path) -> list[str]:
    """The options of a restore with the secret key, in a file."""
    (tmp_path / "the_key").write_text(KEY)
    return ["--key-file", str(tmp_path / "the_key")]


@pytest.fixture
def archive(run: Run, alice, make_link, data_dir: Path, tmp_path: Path) -> Path:
    """A backup of an instance with a link, a daily salt, a picture and a file that is being imported."""
    make_link(alice, url="kept")
    daily_salt.day_key(data_dir, clock.now().date())
    for folder, name in (
        ("uploads", f"{'a' * 32}.png"),
        ("replaced", f"1-{'c' * 32}.png"),
        ("imports", f"{'b' * 32}.csv"),
        ("imports", f"{'b' * 32}.zip"),
    ):
        (data_dir / folder).mkdir(exist_ok=True)
        (data_dir / folder / name).write_bytes(name.encode())
    done = run("backup", tmp_path / "kept.tar.gz")
    assert done.exit_code == 0, done.output
    return tmp_path / "kept.tar.gz"


def test_what_is_in_it(archive: Path, data_dir: Path, run: Run) -> None:
    found = contents(archive)
    about = parse_manifest(found.pop("manifest.json"))
    assert sorted(found) == sorted(about.files)
    assert {
        "main.db",
        "clicks.db",
        f"uploads/{'a' * 32}.png",
        f"replaced/1-{'c' * 32}.png",
        f"imports/{'b' * 32}.csv",
        f"imports/{'b' * 32}.zip",
    } <= set(found)
    assert about.keys == [fingerprint(KEY)]
    keys = [KEY.encode(), *(path.read_bytes() for path in (data_dir / "keys").iterdir())]
    assert keys and not [name for name, content in found.items() for key in keys if key in content]
    assert archive.stat().st_mode & 0o777 == 0o600
    assert not list(data_dir.glob(".backup-*"))
    assert "is there already" in run("backup", archive).stderr


@pytest.mark.full
def test_it_comes_back_by_a_pipe(archive: Path, other: Server, with_key: list[str]) -> None:
    before = int(time.time()) * PER_SECOND - 1
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "restore", "-", *with_key]
    with archive.open("rb") as source:
        done = subprocess.run(
            command, cwd=ROOT, env=other.environ, stdin=source, capture_output=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert (other.data_dir / "secret_key").read_text() == KEY
    assert (other.data_dir / "uploads" / f"{'a' * 32}.png").read_bytes() == b"a" * 32 + b".png"
    modes = {path.stat().st_mode & 0o077 for path in other.data_dir.rglob("*")}
    assert modes == {0}
    with sqlite3.connect(other.data_dir / "main.db") as main:
        assert main.execute("SELECT url FROM link").fetchall() == [("kept",)]
    main.close()
    with sqlite3.connect(other.data_dir / "clicks.db") as clicks:
        counter = clicks.execute("SELECT position, click_id FROM event_counter").fetchall()
    clicks.close()
    assert all(min(row) > before for row in counter) and len(counter) == 1, "the feed leaves the past"
    again = refused(other, "restore", str(archive))
    assert "--force" in again
    replace_key(other.data_dir / "secret_key", "another one, which goes aside too")
    (other.data_dir / database_damage.FILE).touch(mode=0o600)
    moved = other.flask("restore", "--force", str(archive), *with_key)
    aside = next(other.data_dir.glob("before-restore-*"))
    assert str(aside) in moved
    assert not database_damage.is_damage_noted(other.data_dir), "it was of the database before"
    assert {"main.db", "clicks.db", "uploads", "replaced", "imports", "secret_key"} <= {
        path.name for path in aside.iterdir()
    }
    packed = subprocess.run(
        [*command[:5], "backup", "-"],
        cwd=ROOT,
        env=other.environ,
        capture_output=True,
        check=True,
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
        assert {"main.db"} <= (got := set(tar.getnames()))
    assert not {"secret_key", "secret_key.enc"} & got
    assert f"The secret key it needs ({fingerprint(KEY)}) is not in it" in packed.stderr.decode()


@pytest.mark.full
def test_a_restore_that_was_killed_is_done_again(archive: Path, other: Server, with_key: list[str]) -> None:
    """After a kill halfway no command starts on the data, and the next restore completes it."""
    other.data_dir.mkdir()
    (other.data_dir / "restoring").touch()
    (other.data_dir / "clicks.db").write_bytes(b"half")
    assert "A restore was interrupted" in refused(other, "users", "list")
    other.flask("restore", str(archive), *with_key)
    assert "alice" in other.flask("users", "list")


@pytest.mark.full
def test_not_while_it_runs(archive: Path, make_server: MakeServer) -> None:
    server = make_server()
    assert "stop it first" in refused(server, "restore", "--force", str(archive))
    assert server.status("/readyz") == 200


@pytest.mark.full
def test_an_older_one_is_brought_up_to_date(other: Server, tmp_path: Path) -> None:
    """Also: a backup of the older database, as made before an update, changes nothing in it."""
    old = Server(tmp_path / "old")
    old.flask("db", "upgrade", "9d4c7a1e52b6")
    old.flask("backup", str(tmp_path / "old.tar.gz"))
    assert parse_manifest(contents(tmp_path / "old.tar.gz")["manifest.json"]).revisions == ["9d4c7a1e52b6"]
    other.flask("restore", str(tmp_path / "old.tar.gz"))
    with sqlite3.connect(other.data_dir / "main.db") as main:
        assert main.execute("SELECT count(*) FROM link_import").fetchone() is not None
        assert main.execute("SELECT version_num FROM alembic_version").fetchone() != ("9d4c7a1e52b6",)
    main.close()


def changed(found: dict[str, bytes], **about: object) -> dict[str, bytes]:
    told = json.loads(found["manifest.json"]) | about
    return {**found, "manifest.json": json.dumps(told).encode()}


def listed(found: dict[str, bytes], name: str) -> dict[str, bytes]:
    """An archive with one more file, in the manifest and in the archive."""
    told = json.loads(found["manifest.json"])
    told["files"][name] = {"size": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
    return changed({**found, name: b"x"}, files=told["files"])


DAMAGED: dict[str, tuple[Callable[[dict[str, bytes]], dict[str, bytes]], str]] = {
    "of a newer Waypost": (lambda found: changed(found, revisions=["f" * 12]), "a newer Waypost"),
    "of a newer kind": (lambda found: changed(found, format=4), "A newer Waypost"),
    "of another database": (lambda found: changed(found, database="postgresql"), "on postgresql"),
    "a file that is not listed": (lambda found: {**found, "uploads/x": b"x"}, "'uploads/x'"),
    "a path out of it": (lambda found: listed(found, "../../evil"), "it lists '../../evil'"),
    "an absolute path": (lambda found: listed(found, "/tmp/evil"), "it lists '/tmp/evil'"),
    "a visitors' key": (lambda found: listed(found, "keys/2026-11-21"), "it lists 'keys/2026-11-21'"),
    "a file is missing": (
        lambda found: {k: v for k, v in found.items() if k != "clicks.db"},
        "clicks.db is missing",
    ),
    "a byte is another": (
        lambda found: {**found, "main.db": b"x" + found["main.db"][1:]},
        "main.db is not what it was",
    ),
    "a database that is damaged": (
        lambda found: torn(found),
        "main.db of this backup is damaged",
    ),
    "no list": (lambda found: {**found, "manifest.json": b"[]"}, "its list of contents"),
    "something else": (lambda found: {"readme": b"hello"}, "This is no backup of Waypost"),
}


def torn(found: dict[str, bytes]) -> dict[str, bytes]:
    """An archive whose database has overwritten pages, with a manifest that matches."""
    content = found["main.db"][:4096] + b"\xff" * 8192 + found["main.db"][12288:]
    told = json.loads(found["manifest.json"])
    told["files"]["main.db"]["sha256"] = hashlib.sha256(content).hexdigest()
    return changed({**found, "main.db": content}, files=told["files"])


def restored(app: Flask, path: Path) -> Result:
    """Runs a restore in an application context of its own: a command takes the current one's application."""
    runner = app.test_cli_runner()
    return contextvars.Context().run(runner.invoke, args=["restore", str(path)])


def test_what_is_damaged_changes_nothing(archive: Path, app: Flask, tmp_path: Path, monkeypatch) -> None:
    """All are restored into the same empty directory, which stays as it was."""
    found = contents(archive)
    settings = load_settings(environ(tmp_path / "empty"))
    settings.data_dir.mkdir()
    empty = create_app(settings)
    before = sorted(path.name for path in settings.data_dir.iterdir())
    for name, (change, said) in DAMAGED.items():
        bad = written(tmp_path / "bad.tar.gz", change(found))
        done = restored(empty, bad)
        assert (done.exit_code, said in done.stderr) == (1, True), (name, done.output)
    cut = tmp_path / "cut.tar.gz"
    for content in (archive.read_bytes()[:-2000], b"", b"\x1f\x8b", os.urandom(5000)):
        cut.write_bytes(content)
        done = restored(empty, cut)
        assert (done.exit_code, "backup" in done.stderr) == (1, True), done.output
    with tarfile.open(cut, "w:gz") as tar:
        for name, content in found.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            if name == "clicks.db":
                info.type, info.linkname, info.size = tarfile.SYMTYPE, "/etc/passwd", 0
            tar.addfile(info, io.BytesIO(content))
    assert "'clicks.db' is not as its list says" in restored(empty, cut).stderr
    assert "No such file" in restored(empty, tmp_path / "nowhere").stderr
    after = sorted(path.name for path in settings.data_dir.iterdir() if not path.name.endswith(".lock"))
    assert after == [name for name in before if not name.endswith(".lock")]


def test_nothing_there_or_no_room(run: Run, other: Server, tmp_path: Path, monkeypatch) -> None:
    assert "nothing to back up" in refused(other, "backup", str(tmp_path))
    full = os.statvfs_result((4096, 4096, 100, 10, 10, 100, 10, 10, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _path: full)
    done = run("backup", tmp_path / "new.tar.gz")
    assert (done.exit_code, "has no room for a copy" in done.stderr) == (1, True)
    assert not (tmp_path / "new.tar.gz").exists()


@pytest.mark.full
def test_postgresql(tmp_path: Path, postgres_template: str, monkeypatch) -> None:
    """PostgreSQL is dumped and restored by its own programs, into an empty database, all or nothing."""
    names = [f"backup_{uuid.uuid4().hex}" for _ in range(2)]
    with postgres.connect() as connection:
        for name in names:
            connection.execute(f"CREATE DATABASE {name}")
        try:
            clients = next(place for place in postgres.bin_directories() if (place / "pg_dump").exists())
            monkeypatch.setenv("PATH", f"{clients}:{os.environ['PATH']}")
            old, new = (Server(tmp_path / name, DATABASE_URL=postgres.address(name)) for name in names)
            password = "five small boats go upriver\n"
            old.flask("users", "create", "--email", "pg@example.com", "--password-stdin", stdin=password)
            with postgres.connect(names[0]) as main:
                main.execute("INSERT INTO daily_salt VALUES ('2026-11-25', 'the salt of the day')")
            old.flask("backup", str(tmp_path / "pg.tar.gz"))
            assert b"the salt of the day" not in contents(tmp_path / "pg.tar.gz")["main.sql"]
            key = ["--key-file", str(old.data_dir / "secret_key")]
            said = new.flask("restore", str(tmp_path / "pg.tar.gz"), *key)
            assert "Restored" in said
            assert "pg@example.com" in new.flask("users", "list")
            with postgres.connect(names[1]) as main:
                given = main.execute(
                    "SELECT position, last_value FROM clicks.event_counter, clicks.click_id_seq"
                )
                assert min(given.fetchone()) >= PER_SECOND, "the feed leaves the past"
            assert "The database is not empty" in refused(
                new, "restore", "--force", str(tmp_path / "pg.tar.gz"), *key
            )
            rest = old.flask("backup", "--without-database", str(tmp_path / "rest.tar.gz"))
            assert "The database is not in it" in rest
            assert not {"main.sql", "clicks.sql"} & set(contents(tmp_path / "rest.tar.gz"))
        finally:
            for name in names:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
