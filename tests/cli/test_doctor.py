"""Does `flask doctor` say what is wrong, what to do about it, and nothing where all is well?"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from flask import Flask

from app.cli.checks.machine import settings_check
from app.config import load_settings
from app.journal import segments
from app.journal.slate import Dropped
from tests.keys import secret_keys
from tests.server import Server
from tests.visits.geo_files import write_geo_file

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
    assert "The secret key reads what is encrypted" in told.output


def execute(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


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
        lambda d: execute(d / "main.db", "UPDATE alembic_version SET version_num = '9d3b7a52e6c1'"),
        "migrations",
        "older than this program",
    ),
    "no database": (lambda d: (d / "clicks.db").unlink(), "instance", "There is no database"),
    "a damaged database": (lambda d: damage_pages(d / "main.db"), "database", "main.db is damaged"),
    "an orphan": (
        lambda d: execute(
            d / "main.db",
            "INSERT INTO project (user_id, name, color, datetime) VALUES (99, 'x', '#000000', '2026-01-01')",
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
        "from now",
    ),
    "a segment that can't be read": (
        lambda d: (segments.directory_of(d) / f"{time.time_ns()}-{'0' * 16}.v1").mkdir(),
        "journal",
        "directory",
    ),
}


@pytest.mark.parametrize(("damage", "check", "said"), DAMAGES.values(), ids=DAMAGES)
def test_each_problem_is_found(damage: Damage, check: str, said: str, doctor, data_dir: Path) -> None:
    damage(data_dir)
    done = doctor("--json")
    assert done.exit_code == 1, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    found = [detail for level, detail in findings(done)[check] if level == "problem"]
    assert [detail for detail in found if said in detail], found


def test_warnings_are_no_problem(doctor, data_dir: Path) -> None:
    Dropped(segments.directory_of(data_dir)).add(3)
    data_dir.chmod(0o755)
    done = doctor("--json")
    assert done.exit_code == 0
    told = findings(done)
    assert ("warning", "3 visits could not be written down, ever.") in told["journal"]
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
    "known": ({"TRUSTED_PROXIES": "1", "BASE_URL": "https://go.example"}, ""),
}


@pytest.mark.parametrize(("settings", "said"), WITHOUT_AN_ADDRESS.values(), ids=WITHOUT_AN_ADDRESS)
def test_an_address_that_people_know(settings: dict[str, str], said: str, data_dir: Path) -> None:
    environ = {f"WAYPOST_{name}": text for name, text in settings.items()}
    told = settings_check(load_settings({"WAYPOST_DATA_DIR": str(data_dir), **environ}))
    found = [one.detail for one in told if "BASE_URL is not set" in one.detail]
    assert len(found) == bool(said)
    assert all(said in one for one in found)


@pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:9")
def test_a_mail_server_that_is_not_there(doctor) -> None:
    assert "mail" not in findings(doctor("--json"))
    level, said = findings(doctor("--json", "--mail"))["mail"][0]
    assert (level, "127.0.0.1:9" in said) == ("problem", True)


def test_a_server_that_runs(make_server: Callable[..., Server]) -> None:
    """All is well while it runs; killed, that is said; and what is there is not touched."""
    server = make_server()
    assert "It runs, and so does the worker." in server.flask("doctor")
    shutil.rmtree(server.data_dir / "places", ignore_errors=True)
    server.stop()
    assert "Not running" in server.flask("doctor")
