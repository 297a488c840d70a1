"""Archives: complete, without other users' data, and deleted after a day in every case."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts import sessions, workspaces
from app.accounts.access import OWNER, VIEWER, Access
from app.accounts.deletion import leaving
from app.accounts.models import Passkey, User, Workspace
from app.accounts.oidc import identities
from app.accounts.oidc.person import ProviderPerson
from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.extensions import db
from app.core.folders import ROOT
from app.core.machine import machine_id
from app.import_export import archives
from app.import_export.models import Archive
from tests.accounts.deletion.test_purging import furnish
from tests.migrations import environ
from tests.writes import write

SITE = "https://go.example"


def asked(user: User) -> Archive:
    begin_write(db.session)
    archives.ask(user, SITE)
    db.session.commit()
    return db.session.scalars(select(Archive).where(Archive.user_id == user.id)).one()


def made(user: User, settings: Settings) -> tuple[Archive, dict[str, bytes]]:
    row = asked(user)
    archives.run(row.id, settings)
    db.session.refresh(row)
    with zipfile.ZipFile(archives.path_of(settings.data_dir, row.file)) as file:
        assert file.testzip() is None
        return row, {name: file.read(name) for name in file.namelist()}


def rows(text: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.decode("utf-8-sig"))))


@pytest.mark.databases
def test_everything_of_the_owner_and_nothing_of_others(session, settings, alice, bob, factory) -> None:
    furnish(session, factory, alice, settings)
    furnish(session, factory, bob, settings)
    factory.link(alice, "formula", title="=1+1")
    for user in (alice, bob):
        identities.link(user, ProviderPerson("https://id.example.com", user.email[0], user.email))
    known = {"public_key": "pQEC", "user_handle": "AAAA", "rp_id": "localhost", "last_challenge": 7}
    session.add(Passkey(user_id=alice.id, name="Phone", credential_id="abc", **known))
    tokens = [sessions.begin(user, browser="Firefox", system="Linux") for user in (alice, bob)]
    session.commit()
    row, files = made(alice, settings)
    path = archives.path_of(settings.data_dir, row.file)
    assert (row.state, row.bytes) == ("done", path.stat().st_size)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(each["url"] for each in rows(files["links.csv"])) == ["alice", "alice-there", "formula"]
    assert json.loads(files["links.json"])[0]["short_url"] == f"{SITE}/alice"
    assert b"'=1+1" in files["links.csv"]
    assert len(rows(files["visits.csv"])) + len(rows(files["visits-bots.csv"])) == 300
    days = rows(files["statistics/overview.csv"])
    assert sum(int(day["pageviews"]) for day in days) == len(rows(files["visits.csv"]))
    for name in ("pixels", "notification-handlers", "projects", "domains", "api-keys", "history", "trash"):
        assert json.loads(files[f"{name}.json"]), name
    assert json.loads(files["notification-handlers.json"])[0]["settings"] == {"email": "owner@example.com"}
    assert len(rows(files["pictures.csv"])) == 2
    assert {name for name in files if name.startswith("pictures/")} == {
        each["file"] for each in rows(files["pictures.csv"])
    }
    account = json.loads(files["account.json"])
    assert account["email"] == "alice@example.com"
    [identity] = json.loads(files["single-sign-on.json"])
    assert (identity["issuer"], identity["subject"]) == ("https://id.example.com", "a")
    [signed_in] = json.loads(files["sessions.json"])
    assert (signed_in["browser"], signed_in["system"]) == ("Firefox", "Linux")
    told = {"id", "browser", "system", "is_remembered", "last_datetime", "expires_datetime", "datetime"}
    assert set(signed_in) == told
    [passkey] = json.loads(files["passkeys.json"])
    assert (passkey["name"], passkey["credential_id"], passkey["last_datetime"]) == ("Phone", "abc", None)
    assert not {"user_id", "last_challenge"} & set(passkey)
    together = b"".join(files.values())
    for secret in (
        *tokens,
        sessions.digest(tokens[0]),
        alice.password_hash,
        "digest",
        "bob",
        'password_hash": "$argon',
    ):
        assert secret.encode() not in together, secret


def test_hashes_of_links_are_in_the_links_alone(session, settings, alice, factory) -> None:
    from app.links import services

    for change in ({"url": "kept"}, {"url": "thrown"}):
        begin_write(db.session)
        link = services.create(
            access_of(alice),
            {"location_url": "https://example.com/", "password_hash": "$argon2id$1", **change},
        )
        db.session.commit()
        begin_write(db.session)
        services.update(link, {"password_hash": "$argon2id$2"})
        db.session.commit()
    begin_write(db.session)
    services.delete(link)
    db.session.commit()
    _, files = made(alice, settings)
    [link] = json.loads(files["links.json"])
    assert (link["url"], link["password_hash"], link["password_version"]) == ("kept", "$argon2id$2", 2)
    others = [text for name, text in files.items() if name != "links.json"]
    assert b"$argon2id" not in b"".join(others)
    assert [row["has_password"] for row in rows(files["links.csv"])] == ["1"]
    assert b'"password_hash": ["********", "********"]' in files["history.json"]


def test_viewers_get_no_secrets(session, settings, alice, bob, factory) -> None:
    """Whose only workspace is somebody else's has an archive of what they may see there."""
    furnish(session, factory, alice, settings)
    begin_write(db.session)
    shared, own = (db.session.get_one(Workspace, access_of(one).workspace_id) for one in (alice, bob))
    workspaces.add_member(shared, bob, VIEWER)
    workspaces.add_member(own, alice, OWNER)
    workspaces.remove_member(next(one for one in workspaces.members(own.id) if one.user_id == bob.id))
    db.session.commit()
    assert access_of(bob) == (bob, shared.id, VIEWER)
    files = made(bob, settings)[1]
    assert not {"links.json", "notification-handlers.json", "trash.json"} & files.keys()
    assert len(rows(files["links.csv"])) >= 1


@pytest.mark.databases
def test_one_at_a_time(session: Session, settings: Settings, alice: User, bob: User) -> None:
    first = asked(alice)
    id_, name = first.id, first.file
    assert asked(alice).file == name
    archives.run(id_, settings)
    session.expire_all()
    second = asked(alice)
    assert (second.state, second.file == name) == ("waiting", False)
    assert asked(bob).id != second.id


@pytest.mark.databases
def test_after_a_day_it_is_gone(session: Session, settings: Settings, alice: User) -> None:
    row, _ = made(alice, settings)
    path = archives.path_of(settings.data_dir, row.file)
    os.utime(path, (0, 0))
    assert archives.sweep(session, settings.data_dir) == 0
    assert archives.find_archive(alice)
    row.datetime = row.done_datetime = now() - archives.RETENTION
    session.commit()
    assert archives.find_archive(alice) is None
    assert archives.sweep(session, settings.data_dir) == 1
    assert not path.exists()
    assert session.scalars(select(Archive)).all() == []


@pytest.mark.parametrize("loses", ["secrets", "all"])
def test_who_has_lost_the_rights_since(session, settings, alice, bob, loses) -> None:
    """A file that was made before a demotion or a removal is not theirs any more; a new one has less."""
    workspace = session.get_one(Workspace, access_of(bob).workspace_id)
    write(workspaces.add_member, workspace, alice, OWNER)
    row, files = made(bob, settings)
    assert "links.json" in files
    assert archives.find_archive(bob) == row
    member = next(one for one in workspaces.members(workspace.id) if one.user_id == bob.id)
    write(
        *((workspaces.remove_member, member) if loses == "all" else (workspaces.change_role, member, VIEWER))
    )
    session.expire_all()
    assert archives.find_archive(bob) is None
    row, files = made(bob, settings)
    assert archives.find_archive(bob) == row
    assert row.has_secrets is ("links.json" in files) is (loses == "all")
    assert (row.workspace_id == workspace.id) is (loses == "secrets")


def test_who_leaves_while_it_is_made(session, settings, bob, alice, monkeypatch) -> None:
    row = asked(bob)
    monkeypatch.setattr(archives, "TOLD_SECONDS", 0)

    def members(access: Access, site: str) -> Any:
        write(leaving.leave, db.session.get_one(User, access.user.id))
        yield archives.Member("a.txt", ["line\n"] * 3)

    monkeypatch.setattr(archives, "members", members)
    archives.run(row.id, settings)
    assert list(archives.directory_of(settings.data_dir).iterdir()) == []


def test_what_fails_again_and_again_is_given_up(session, settings, alice, monkeypatch) -> None:
    row = asked(alice)

    def broken(*_: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr(archives, "members", broken)
    for _ in range(archives.TRIES):
        assert archives.unfinished_archives(session, machine_id(settings.data_dir)) == [(row.id, row.user_id)]
        with pytest.raises(RuntimeError):
            archives.run(row.id, settings)
        session.rollback()
    archives.run(row.id, settings)
    session.refresh(row)
    assert (row.state, bool(row.problem)) == ("failed", True)
    assert archives.unfinished_archives(session, machine_id(settings.data_dir)) == []


@pytest.mark.databases
@pytest.mark.full
def test_a_killed_process_is_begun_anew_and_leaves_nothing(session, settings, alice, factory) -> None:
    """With the real process, as the worker starts it."""
    for number in range(3):
        factory.link(alice, f"link-{number}")
    row = asked(alice)
    draft = archives.path_of(settings.data_dir, row.file).with_suffix(".part")
    draft.parent.mkdir(mode=0o700)
    draft.write_bytes(b"half of it")
    orphan = draft.with_name("0" * 32 + ".part")
    orphan.write_bytes(b"of a row that is gone")
    os.utime(orphan, (0, 0))
    assert archives.sweep(session, settings.data_dir) == 1
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "archive", "--run", str(row.id)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    env = inherited | environ(settings.data_dir, settings.database_url)
    session.rollback()
    subprocess.run(command, cwd=ROOT, env=env, check=True, timeout=60)
    session.refresh(row)
    assert row.state == "done"
    assert [path.name for path in Path(draft.parent).iterdir()] == [row.file]
