"""Every kept state of an earlier release is upgraded: all that matters is there, every click once."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.script import ScriptDirectory

from app.core.folders import ROOT
from app.operations.backups.before_upgrade import list_backups
from tests import postgres
from tests.commands import run_command
from tests.pages import Person
from tests.server import Server, wait_for
from tests.upgrades.program import OldServer, is_known, unpack_program
from tests.upgrades.record import ApiReader, list_losses, read_pictures, read_rows
from tests.upgrades.releases import Release, UnpackedRelease, list_releases, unpack

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("programs_of_postgres")]

RELEASES = list_releases()
DATABASES = ("sqlite", "postgresql")
# what owners made, and what was counted; other tables are work in progress (jobs, leases, sessions, counts of limits)
KEPT_TABLES = (
    "user", "api_key", "project", "pixel", "domain", "notification_handler", "link", "click", "counter",
)  # fmt: skip
# columns that the program itself writes anew
OWN_COLUMNS = frozenset(
    {
        "search_text",
        "search_notes",
        "clicks",
        "last_datetime",
        "seen_datetime",
        "checked_datetime",
        "unproven_since",
    }
)
SOURCES = "SELECT value, count(*) FROM {0}click JOIN {0}term ON term.id = utm_source_id WHERE link_id = {1:d} GROUP BY value"


@pytest.fixture(params=[(release, database) for release in RELEASES for database in DATABASES],
                ids=[f"{release.name}-{database}" for release in RELEASES for database in DATABASES])  # fmt: skip
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Release, UnpackedRelease]:
    release, database = request.param
    return release, unpack(release, database, tmp_path / "kept")


def server_of(state: UnpackedRelease) -> Server:
    return Server(state.data_dir, **settings_of(state))


def settings_of(state: UnpackedRelease) -> dict[str, str]:
    url = {"DATABASE_URL": state.database_url} if state.database_url else {}
    return {**url, "API_RATE_LIMIT": "0"}


def test_everything_survives(kept: tuple[Release, UnpackedRelease]) -> None:
    release, state = kept
    before = read_rows(state.data_dir, state.database_url)
    server, hot = server_of(state), state.record["hot"]
    pending = is_pending(server)
    server.start()
    try:
        api = ApiReader(server, state.record["API key"])
        wait_for(lambda: api.clicks(hot) >= state.record["clicks"], "the clicks")
        check_record(state.record["api"], api.record(), hot)
        assert state.record["pictures"] == read_pictures(server, state.record["api"]) != {}
        check_sign_in(server, state.record)
    finally:
        server.stop()
    after = read_rows(state.data_dir, state.database_url)
    for row in before["click"].rows:
        row.setdefault("workspace_id", row.pop("user_id", None))  # its name before
    losses = {name: list_losses(before[name], after[name], but=OWN_COLUMNS) for name in KEPT_TABLES}
    assert {name: found for name, found in losses.items() if found} == {}
    assert sum(row["clicks"] for row in before["counter"].rows) > 100
    check_clicks(state)
    backups = list_backups(state.data_dir / "backups")
    assert [release.revision in path.name for path in backups] == [True] * pending
    said = run_command(("doctor",), ROOT, server.environ).stdout.decode()
    assert "PROBLEM" not in said, said


def is_pending(server: Server) -> bool:
    """Whether an upgrade is to be done, which `doctor` of the new program says beforehand."""
    said = run_command(("doctor",), ROOT, server.environ).stdout.decode()
    found = re.search(r"upgrade: +(The next start applies \d+ migrations?|No upgrade is pending)", said)
    assert found, said
    return found[1].startswith("The next start")


def check_record(before: dict[str, Any], after: dict[str, Any], hot: int) -> None:
    """Every value that the older API answered, the newer one answers, too. New fields may be there besides."""
    before["links"][str(hot)] |= {"clicks": after["links"][str(hot)]["clicks"]}
    lost = [
        f"{resource} {key}.{name}: {value!r} became {after[resource].get(key, {}).get(name)!r}"
        for resource, rows in before.items()
        if resource != "user"
        for key, row in rows.items()
        for name, value in row.items()
        if after[resource].get(key, {}).get(name) != value
    ]
    lost += [f"user.{name}" for name, value in before["user"].items() if after["user"].get(name) != value]
    assert lost == []


def check_sign_in(server: Server, record: dict[str, Any]) -> None:
    person = Person(server.url)
    page = person.open("/login")
    person.send_form(page, "/login", email=record["E-mail"], password=record["Password"])
    assert "hot" in person.open("/dashboard/links/").text


def check_clicks(state: UnpackedRelease) -> None:
    """Visits of before, and those that waited in a killed program's journal: each is one row."""
    counted = counted_sources(state)
    assert {source: number for source, number in counted.items() if number != 1} == {}
    assert len(counted) == state.record["clicks"]
    assert all(source.startswith(("hot-", "wait-")) for source in counted)


def counted_sources(state: UnpackedRelease) -> Counter[str]:
    hot = state.record["hot"]
    if state.database_url:
        with psycopg.connect(state.database_url) as connection:
            return Counter(
                dict(connection.execute(SOURCES.format("clicks.", hot).replace("term.id", "clicks.term.id")))
            )
    connection = sqlite3.connect(state.data_dir / "clicks.db")
    try:
        return Counter(dict(connection.execute(SOURCES.format("", hot))))
    finally:
        connection.close()


def newest_known(head: str) -> Release:
    """The newest release whose program is in the history of the repository."""
    found = [each for each in reversed(RELEASES) if each.revision != head and is_known(each.commit)]
    if not found:
        pytest.skip("no release of older tables is kept whose program the history of the repository has")
    return found[0]


@pytest.mark.parametrize("database", DATABASES)
def test_the_way_back(database: str, tmp_path: Path) -> None:
    """As docs/upgrade.md says: the old program restores its own backup, for those of 1.0 it does not read."""
    (head,) = ScriptDirectory(str(ROOT / "app" / "migrations")).get_heads()
    release = newest_known(head)
    state = unpack(release, database, tmp_path / "kept")
    program = unpack_program(release.commit, tmp_path / "program")
    old, new = OldServer(program, state.data_dir, **settings_of(state)), server_of(state)
    own = tmp_path / "own.tar.gz"
    old.flask("backup", str(own))
    assert is_pending(new)
    new.start()
    api = ApiReader(new, state.record["API key"])
    wait_for(lambda: api.clicks(state.record["hot"]) >= state.record["clicks"], "the clicks")
    new.stop()
    check_clicks(state)
    (backup,) = list_backups(state.data_dir / "backups")
    assert "a newer Waypost has written to this database" in old.refused("users", "list")
    go_back(program, state, own, backup, tmp_path / "back")


def go_back(program: Path, state: UnpackedRelease, own: Path, newer: Path, folder: Path) -> None:
    """The old program restores its own backup, not the newer program's, and serves."""
    folder.mkdir()
    settings = settings_of(state)
    if state.database_url:
        name = f"back_{folder.parent.name}"[:60].replace("-", "_")
        with postgres.connect() as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        settings["DATABASE_URL"] = postgres.address(name)
    key = state.data_dir / "secret_key"
    back = OldServer(program, folder / "data", **settings)
    assert "A newer Waypost" in back.refused("restore", str(newer), "--key-file", str(key))
    back.flask("restore", str(own), "--key-file", str(key))
    back.start()
    api = ApiReader(back, state.record["API key"])
    check_record(state.record["api"], api.record(), state.record["hot"])
    assert api.clicks(state.record["hot"]) >= state.record["clicks"]
    back.stop()
