"""`flask doctor`: it reports what is wrong and what to do, nothing where all is well, and changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from flask import Flask

from app.core import config_sources
from app.core.config import Settings, load_settings
from app.core.extensions import db
from app.core.folders import ROOT
from app.journal import segments
from app.journal.persistent_value import Dropped
from app.operations.checks import machine
from app.operations.checks import settings as checked_settings
from app.operations.checks.around import servers_check
from app.operations.checks.settings import find_conflicts, settings_check
from tests.accounts.oidc.scripted_provider import CLIENT, SECRET, scripted_provider
from tests.commands import run_command
from tests.factories import PASSWORD
from tests.geo.geo_files import write_geo_file
from tests.keys import secret_keys
from tests.migrations import environ
from tests.server import Server

pytestmark = pytest.mark.settings(SECRET_KEY="a secret of the tests that has no end in sight")
Damage = Callable[[Path], object]


@pytest.fixture
def doctor(app: Flask) -> Callable[..., Result]:
    return lambda *arguments: app.test_cli_runner().invoke(args=["doctor", *arguments])


def findings(done: Result) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for line in json.loads(done.stdout):
        found.setdefault(line["check"], []).append((line["level"], line["detail"]))
        assert line["level"] == "ok" or line["advice"], "what is wrong comes with what to do"
    return found


@pytest.mark.databases
def test_all_is_well(doctor, make_link, make_handler, alice, data_dir: Path) -> None:
    make_link(alice)
    make_handler(alice)
    data_dir.chmod(0o700)
    for path in data_dir.iterdir():
        path.chmod(path.stat().st_mode & ~0o077)
    write_geo_file(data_dir / "geo.mmdb")
    done = doctor("--json")
    bad = {
        name: lines for name, lines in findings(done).items() if any(level == "problem" for level, _ in lines)
    }
    assert not bad
    assert done.exit_code == 0
    told = doctor()
    assert (told.exit_code, "PROBLEM" in told.output) == (0, False)
    assert "The secret key decrypts what is stored" in told.output


def execute(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


def write_readable(path: Path) -> None:
    """Writes a file that every user may read, as a copy by hand does."""
    path.write_text("x" * 40)
    path.chmod(0o644)


def in_the_future(path: Path) -> None:
    path.touch()
    os.utime(path, (time.time() + 3600, time.time() + 3600))


def damage_pages(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size - 8192)
        file.write(os.urandom(8192))


DAMAGES: dict[str, tuple[Damage, str, str]] = {
    "a readable key": (
        lambda d: (d / "secret_key").write_text("x" * 40) and (d / "secret_key").chmod(0o644),
        "files",
        "others on this machine",
    ),
    "an interrupted restore": (lambda d: (d / "restoring").touch(), "files", "interrupted"),
    "a newer database": (
        lambda d: execute(d / "main.db", "UPDATE alembic_version SET version_num = 'ffff'"),
        "migrations",
        "newer Waypost",
    ),
    "an older database": (
        lambda d: execute(d / "main.db", "UPDATE alembic_version SET version_num = '9d4c7a1e52b6'"),
        "migrations",
        "older than this program",
    ),
    "no database": (
        lambda d: [(d / name).unlink() for name in ("main.db", "clicks.db")],
        "instance",
        "There is no database",
    ),
    "one of two databases": (
        lambda d: (d / "clicks.db").unlink(),
        "instance",
        "One of the two databases is missing",
    ),
    "readable old keys": (
        lambda d: (d / "retired_keys").mkdir() or write_readable(d / "retired_keys" / "0123456789abcdef"),
        "files",
        "retired_keys has the mode 755, and 1 more file in",
    ),
    "a journal that is no folder": (
        lambda d: segments.directory_of(d).rmdir() or (d / "journal").touch(),
        "files",
        "journal can't be written to: it is no folder",
    ),
    "a damaged database": (lambda d: damage_pages(d / "main.db"), "database", "main.db is damaged"),
    "a file that is no database": (
        lambda d: (d / "main.db").write_bytes(os.urandom(65536)),
        "database",
        "main.db is damaged: file is not a database",
    ),
    "an orphan": (
        lambda d: execute(
            d / "main.db",
            "INSERT INTO project (workspace_id, user_id, name, color, datetime) VALUES (99, 99, 'x', '#000000', '2026-01-01')",
        ),
        "database",
        "1 row of project",
    ),
    "clicks that no statistics know": (
        lambda d: execute(d / "clicks.db", "INSERT INTO counter VALUES (1, 5)"),
        "counts",
        "1 link have more clicks",
    ),
    "sums that differ": (
        lambda d: execute(d / "clicks.db", "INSERT INTO owner_day VALUES (1, 20000, 5, NULL, 0)"),
        "counts",
        "5 by day, 0 rows",
    ),
    "a damaged file of places": (lambda d: (d / "geo.mmdb").write_bytes(b"x" * 1000), "places", "is damaged"),
    "a clock that went back": (
        lambda d: (segments.directory_of(d) / f"{time.time_ns() + 10**13}-{'0' * 16}.v1").touch(),
        "clock",
        "Visits were written",
    ),
    "a file of the future": (
        lambda d: in_the_future(d / "worker.alive"),
        "clock",
        "Files were written",
    ),
    "a click of the future": (
        lambda d: execute(
            d / "clicks.db",
            "INSERT INTO click (id, time_ms, link_id, workspace_id, is_bot) VALUES"
            f" (1, {(time.time_ns() + 10**13) // 10**6}, 1, 1, 0)",
        ),
        "times",
        "Clicks were written",
    ),
    "a segment that can't be read": (
        lambda d: (segments.directory_of(d) / f"{time.time_ns()}-{'0' * 16}.v1").mkdir(),
        "journal",
        "directory",
    ),
}


Tree = dict[str, tuple[int, int, bytes]]


def tree(directory: Path) -> Tree:
    """Each file with its mode, the time of its last change and its content."""
    found = {}
    for path in [directory, *sorted(directory.rglob("*"))]:
        at = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(directory))] = (at.st_mode, at.st_mtime_ns, content)
    return found


@pytest.mark.parametrize(("damage", "check", "said"), DAMAGES.values(), ids=DAMAGES)
def test_each_problem_is_found_and_nothing_is_changed(
    damage: Damage, check: str, said: str, doctor, app: Flask, data_dir: Path
) -> None:
    """No byte, no time and no file changes, also of databases that were closed properly, without logs."""
    with app.app_context():
        db.engine.dispose()
    damage(data_dir)
    before = tree(data_dir)
    done = doctor("--json")
    assert tree(data_dir) == before
    assert done.exit_code == 1, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    found = [detail for level, detail in findings(done)[check] if level == "problem"]
    assert [detail for detail in found if said in detail], found


@pytest.mark.full
def test_nothing_is_changed_after_a_kill(make_server: Callable[..., Server]) -> None:
    """Logs that were not checkpointed into the databases stay as they are, and are read."""
    server = make_server()
    server.flask("users", "create", "--email", "a@example.com", "--password-stdin", stdin=PASSWORD)
    server.kill()
    assert (server.data_dir / "main.db-wal").stat().st_size
    before = tree(server.data_dir)
    done = run_command(("doctor", "--json"), ROOT, server.environ)
    assert {line["check"] for line in json.loads(done.stdout)} > {"database", "counts", "secret"}, done.stderr
    assert tree(server.data_dir) == before


def test_a_data_directory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "WAYPOST_DATA_DIR": str(tmp_path / "nothing" / "here")}
    done = run_command(("doctor",), ROOT, environ)
    assert done.returncode == 1
    assert f"{tmp_path / 'nothing' / 'here'} does not exist" in done.stdout.decode()
    assert not (tmp_path / "nothing").exists()


def test_warnings_are_no_problem(doctor, data_dir: Path) -> None:
    Dropped(segments.directory_of(data_dir)).add(3)
    data_dir.chmod(0o755)
    before = tree(data_dir)
    done = doctor("--json")
    assert tree(data_dir) == before
    assert done.exit_code == 0
    told = findings(done)
    assert ("warning", "3 clicks could not be written, in total.") in told["journal"]
    assert {level for level, _ in told["files"]} == {"warning"}


def test_a_key_that_is_not_the_one(doctor, make_handler, alice, app: Flask, session) -> None:
    make_handler(alice)
    session.commit()
    with secret_keys("another secret, of more than 32 characters"):
        done = doctor("--json")
    assert "1 handler can't be read with this secret key" in done.stdout


WITHOUT_AN_ADDRESS = {
    "alone": ({}, ""),
    "a proxy before it": ({"TRUSTED_PROXIES": "1"}, "a proxy stands before it"),
    "mails": ({"SMTP_URL": "smtp://127.0.0.1:9"}, "send mails"),
    "another host": ({"HOST": "0.0.0.0"}, "HOST is 0.0.0.0"),
    "the dashboard elsewhere": ({"DASHBOARD_URL": "https://dash.example"}, "DASHBOARD_URL is"),
    "known": ({"TRUSTED_PROXIES": "1", "BASE_URL": "https://go.example"}, ""),
}


@pytest.mark.parametrize(("settings", "said"), WITHOUT_AN_ADDRESS.values(), ids=WITHOUT_AN_ADDRESS)
def test_an_address_that_people_know(settings: dict[str, str], said: str, data_dir: Path) -> None:
    environ = {f"WAYPOST_{name}": text for name, text in settings.items()}
    told = settings_check(load_settings({"WAYPOST_DATA_DIR": str(data_dir), **environ}))
    found = [one.detail for one in told if "BASE_URL is not set" in one.detail]
    assert len(found) == bool(said)
    assert all(said in one for one in found)


SITE = {"BASE_URL": "https://go.example", "TRUSTED_PROXIES": "1"}
CONFLICTS = {
    "https without a proxy": ({"BASE_URL": "https://go.example"}, "warning", "TRUSTED_PROXIES is 0"),
    "a proxy's header without a proxy": (
        {"GEO_COUNTRY_HEADER": "CF-IPCountry"},
        "warning",
        "GEO_COUNTRY_HEADER is set, but WAYPOST_TRUSTED_PROXIES is 0",
    ),
    "an own host that is not trusted": (
        SITE | {"TRUSTED_HOSTS": "other.example"},
        "problem",
        "TRUSTED_HOSTS lacks the host of WAYPOST_BASE_URL, go.example",
    ),
    "links and dashboard on one host": (
        SITE | {"DASHBOARD_URL": "https://go.example"},
        "problem",
        "no short link answers there",
    ),
    "a sender without a server": ({"MAIL_FROM": "a@go.example"}, "warning", "MAIL_FROM is set without"),
    "a value and a file": (
        {"PORT": "8000", "PORT_FILE": "/dev/null"},
        "warning",
        "WAYPOST_PORT and WAYPOST_PORT_FILE are both set",
    ),
    "a key in the settings and one in a file": (
        {"SECRET_KEY": "a secret of the tests that has no end in sight"},
        "warning",
        "secret_key is there, which is not used",
    ),
}


@pytest.mark.parametrize(("settings", "level", "said"), CONFLICTS.values(), ids=CONFLICTS)
def test_settings_that_contradict_each_other(
    settings: dict[str, str], level: str, said: str, data_dir: Path
) -> None:
    (data_dir / "secret_key").write_text("a key of the data directory, of more than 32 characters")
    environ = {f"WAYPOST_{name}": text for name, text in settings.items()}
    found = list(find_conflicts(load_settings({"WAYPOST_DATA_DIR": str(data_dir), **environ})))
    assert [one.level for one in found if said in one.detail] == [level]
    assert len(found) == 1
    assert found[0].advice


def test_settings_that_agree(data_dir: Path) -> None:
    environ = SITE | {"TRUSTED_HOSTS": ".example", "DASHBOARD_URL": "https://dash.example"}
    settings = load_settings(
        {"WAYPOST_DATA_DIR": str(data_dir), **{f"WAYPOST_{name}": text for name, text in environ.items()}}
    )
    assert list(find_conflicts(settings)) == []


ENV_FILES = {
    "secrets for everybody": ("WAYPOST_SECRET_KEY=a\n", 0o644, "can read WAYPOST_SECRET_KEY"),
    "a password in an address": ("WAYPOST_SMTP_URL=smtp://me:pass@mail.example\n", 0o604, "WAYPOST_SMTP_URL"),
    "no secrets": ("WAYPOST_PORT=80\nWAYPOST_SECRET_KEY=\n", 0o644, ""),
    "secrets for a group": ("WAYPOST_SECRET_KEY=a\n", 0o640, ""),
    "what others change": ("WAYPOST_PORT=80\n", 0o660, "can change the settings"),
}


@pytest.mark.parametrize(("text", "mode", "said"), ENV_FILES.values(), ids=ENV_FILES)
def test_a_file_of_settings_that_others_can_get_at(
    text: str, mode: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".env"
    path.write_text(text)
    path.chmod(mode)
    for module in (checked_settings, config_sources):
        monkeypatch.setattr(module, "ENV_FILE", path)
    found = list(checked_settings.env_file_check())
    assert [one.level for one in found] == (["problem"] if said else [])
    assert all(said in one.detail and str(path) in one.advice for one in found)


@pytest.mark.settings(REDIS_URL="redis://127.0.0.1:1/0")
def test_redis_that_is_not_there(doctor) -> None:
    assert findings(doctor("--json"))["redis"][0][0] == "problem"


@pytest.mark.parametrize(("ahead", "levels"), [(0, ["ok"]), (-3600, ["ok", "problem"])])
def test_the_clock_of_redis(
    ahead: int, levels: list[str], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "ask_time", lambda _url: time.time() + ahead)
    found = list(machine.redis_check(replace(settings, redis_url="redis://127.0.0.1:6379/0")))
    assert [one.level for one in found] == levels
    assert all("behind this machine's" in one.detail for one in found[1:])


@pytest.mark.databases
def test_the_clock_of_the_databases_server(
    settings: Settings, session, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(machine.times_check(settings)) == []
    real = time.time
    monkeypatch.setattr(machine.time, "time", lambda: real() - 3600)
    found = [one.detail for one in machine.times_check(settings)]
    assert len(found) == (database == "postgresql")
    assert all("ahead of this machine's" in each for each in found)


def test_a_clock_that_stands_before_the_program(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small computer without a battery begins in 1970."""
    assert [one.level for one in machine.clock_check(settings)] == ["ok"]
    monkeypatch.setattr(machine.time, "time", lambda: 1000.0)
    assert any("Waypost's own files" in one.detail for one in machine.clock_check(settings))


@pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:9")
def test_a_mail_server_that_is_not_there(doctor) -> None:
    assert "mail" not in findings(doctor("--json"))
    level, said = findings(doctor("--json", "--mail"))["mail"][0]
    assert (level, "127.0.0.1:9" in said) == ("problem", True)


def test_a_server_that_runs(make_server: Callable[..., Server]) -> None:
    """No problem is found while the server runs. Its kill is reported. Files are not touched."""
    server = make_server()
    assert "It runs, and so does the worker." in server.flask("doctor")
    shutil.rmtree(server.data_dir / "places", ignore_errors=True)
    server.stop()
    assert "Not running" in server.flask("doctor")


PROVIDERS = {
    "that answers": ({}, "ok", "answers as http"),
    "of another issuer": ({"issuer": "https://id.example"}, "problem", "another issuer"),
    "without keys": ({"jwks_uri": None}, "problem", "no jwks_uri"),
}


@pytest.mark.parametrize(("document", "level", "said"), PROVIDERS.values(), ids=PROVIDERS)
def test_a_provider_of_single_sign_on(
    document: dict[str, object], level: str, said: str, data_dir: Path
) -> None:
    with scripted_provider() as provider:
        provider.document = document
        values = {"OIDC_ISSUER": provider.url, "OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": SECRET}
        settings = load_settings(environ(data_dir, "", **values))
        [found] = servers_check(settings)
        assert (found.level, said in found.detail) == (level, True), found
    [found] = servers_check(settings)
    assert (found.level, "OIDC_ISSUER" in found.detail) == ("problem", True), found
