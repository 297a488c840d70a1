"""`flask users` and `flask keys`: their results and their error messages."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy.orm import Session

from app.accounts import keys, one_time_addresses, services, sessions, setup
from app.accounts.models import ApiKey, SignInLink, User
from app.accounts.oidc import identities
from app.accounts.workspaces import access_of
from app.core.folders import ROOT
from tests.commands import run_command
from tests.conftest import environ
from tests.factories import PASSWORD

Run = Callable[..., Result]


@pytest.fixture
def run(app: Flask) -> Run:
    """Runs a command that is written as an operator types it."""
    return lambda line, stdin="": app.test_cli_runner().invoke(args=shlex.split(line), input=stdin)


def columns(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()]


class TestUsers:
    def test_the_first_one_is_admin_and_ends_the_set_up(
        self, run: Run, data_dir: Path, session: Session
    ) -> None:
        setup.setup_token(data_dir)
        made = run("users create --email Alice@example.com --name Alice --password-stdin", stdin=PASSWORD)
        assert (made.exit_code, made.output) == (0, "Created user 1: alice@example.com (admin)\n")
        assert not (data_dir / "setup_token").exists()
        assert services.authenticate("alice@example.com", PASSWORD)

    def test_later_ones_are_admins_only_when_said(self, run: Run, alice: User) -> None:
        run("users create --email b@example.com --password-stdin", stdin=PASSWORD)
        run("users create --email c@example.com --admin --password-stdin", stdin=PASSWORD)
        assert [user.is_admin for user in services.list_users()] == [True, False, True]

    def test_are_listed(self, run: Run, alice: User, bob: User) -> None:
        head, *rows = columns(run("users list").output)
        assert head == ["ID", "EMAIL", "NAME", "ROLE", "STATE", "CREATED"]
        assert [row[:4] for row in rows] == [
            ["1", "alice@example.com", "-", "admin"],
            ["2", "bob@example.com", "-", "user"],
        ]

    def test_a_new_password_ends_their_sessions(self, run: Run, alice: User, session: Session) -> None:
        before = sessions.begin(alice)
        session.commit()
        done = run(
            "users set-password --email ALICE@example.com --password-stdin", stdin="another one entirely\n"
        )
        assert (done.exit_code, done.output) == (0, "Set the password of alice@example.com\n")
        session.expire_all()
        assert sessions.find(before) is None
        assert services.authenticate("alice@example.com", "another one entirely")

    @pytest.mark.parametrize(
        ("typed", "kept"),
        [("plum tree\n", "plum tree"), ("plum tree\r\n", "plum tree"), (" plum tree \n\n", " plum tree \n")],
    )
    def test_only_the_last_line_end_is_no_part_of_a_password(
        self, run: Run, alice: User, session: Session, typed: str, kept: str
    ) -> None:
        done = run("users set-password --email alice@example.com --password-stdin", stdin=typed)
        session.expire_all()
        if "\n" in kept:
            assert done.exit_code == 1
            assert "control characters" in done.stderr
        else:
            assert services.authenticate("alice@example.com", kept)


WRONG = {
    "no password": (2, "users create --email b@example.com", ""),
    "no good address": (1, "users create --email nonsense --password-stdin", PASSWORD),
    "a taken address": (1, "users create --email alice@example.com --password-stdin", PASSWORD),
    "a trivial password": (1, "users create --email b@example.com --password-stdin", "password"),
    "nobody's password": (1, "users set-password --email b@example.com --password-stdin", PASSWORD),
    "nobody's key": (1, "keys create --email b@example.com --name x", ""),
    "a key without a name": (1, "keys create --email alice@example.com --name ''", ""),
    "a key that is expired already": (2, "keys create --email alice@example.com --name x --expires 0", ""),
    "a prefix too short": (2, "keys revoke wp_1234567", ""),
    "no such key": (1, "keys revoke wp_12345678", ""),
}


@pytest.mark.parametrize(("code", "line", "stdin"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_on_stderr_and_changes_nothing(
    run: Run, alice: User, session: Session, code: int, line: str, stdin: str
) -> None:
    done = run(line, stdin=stdin)
    assert (done.exit_code, done.stdout) == (code, "")
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr
    session.expire_all()
    assert (len(services.list_users()), keys.list_keys()) == (1, [])
    assert services.authenticate(alice.email, PASSWORD)


class TestComingAndGoing:
    def test_a_user_is_shut_out_and_let_in(self, run: Run, bob: User, session: Session) -> None:
        assert run("users disable --email BOB@example.com").output == "Disabled bob@example.com\n"
        assert columns(run("users list").output)[2][4] == "disabled"
        assert run(f"users enable --email {bob.email}").output == "Enabled bob@example.com\n"
        assert columns(run("users list").output)[2][4] == "active"

    def test_a_user_is_deleted_and_restored(self, run: Run, bob: User, session: Session) -> None:
        asked = run(f"users delete --email {bob.email}", stdin="n\n")
        assert asked.exit_code == 1
        assert columns(run("users list").output)[2][4] == "active"
        done = run(f"users delete --email {bob.email} --yes")
        assert done.output.startswith("Deleted bob@example.com\nDeleted for good after ")
        assert columns(run("users list").output)[2][4] == "deleted"
        assert run(f"users restore --email {bob.email}").output == "Restored bob@example.com\n"
        assert columns(run("users list").output)[2][4] == "active"

    @pytest.mark.parametrize("command", ["disable", "delete --yes"])
    def test_the_last_admin_stays(self, run: Run, bob: User, command: str) -> None:
        refused = run(f"users {command} --email alice@example.com")
        assert refused.exit_code == 1
        assert "last admin" in refused.stderr

    @pytest.mark.parametrize("command", ["disable", "enable", "restore"])
    def test_nobody(self, run: Run, command: str) -> None:
        refused = run(f"users {command} --email nobody@example.com")
        assert (refused.exit_code, "there is no user" in refused.stderr) == (1, True)


class TestKeys:
    def test_the_key_is_all_that_is_printed_and_it_works(
        self, run: Run, alice: User, session: Session
    ) -> None:
        made = run("keys create --email alice@example.com --name deploy --scope read --expires 30")
        key = keys.find_key(made.stdout.removesuffix("\n"))
        assert made.stderr == ""
        assert key is not None
        assert (key.name, key.scope, key.user) == ("deploy", "read", alice)
        assert key.expires_datetime is not None
        assert (key.expires_datetime - key.datetime).days == 30

    def test_writes_and_never_expires_unless_said(self, run: Run, alice: User) -> None:
        key = keys.find_key(run(f"keys create --email {alice.email} --name x").stdout.strip())
        assert key is not None
        assert (key.scope, key.expires_datetime) == ("write", None)

    def test_change_members_only_where_that_is_said(self, run: Run, alice: User) -> None:
        made = f"keys create --email {alice.email} --name"
        for name, options in (("a", ""), ("b", "--members")):
            key = keys.find_key(run(f"{made} {name} {options}").stdout.strip())
            assert key is not None
            assert key.changes_members is (name == "b")
        assert run(f"{made} c --members --scope read").exit_code == 1
        scopes = [row[2:4] for row in columns(run("keys list").output)[1:]]
        assert scopes == [["b", "write+members"], ["a", "write"]]

    def test_are_listed_without_their_text(self, run: Run, alice: User, bob: User, make_key) -> None:
        _, text = make_key(alice, name="mine")
        make_key(bob, name="his", scope="read")
        output = run("keys list").output
        assert [row[1:5] for row in columns(output)[1:]] == [
            ["bob@example.com", "his", "read", "active"],
            ["alice@example.com", "mine", "write", "active"],
        ]
        assert text[:11] in output
        assert text[:12] not in output
        assert [row[2] for row in columns(run(f"keys list --email {bob.email}").output)[1:]] == ["his"]

    def test_one_is_revoked_by_its_beginning(self, run: Run, alice: User, make_key, session: Session) -> None:
        _row, text = make_key(alice)
        done = run(f"keys revoke {text[:11]}")
        assert (done.exit_code, done.output) == (0, f"Revoked {text[:11]}… (test, of alice@example.com)\n")
        assert keys.find_key(text) is None
        assert "revoked" in run("keys list").output
        assert run(f"keys revoke {text[:11]}").exit_code == 1

    def test_one_of_two_that_begin_alike_is_not_guessed(
        self, run: Run, alice: User, make_key, session: Session
    ) -> None:
        row, text = make_key(alice, name="first")
        session.add(ApiKey(**access_of(alice).row_columns, name="second", prefix=row.prefix, digest="0" * 64))
        session.commit()
        done = run(f"keys revoke {text[:11]}")
        assert done.exit_code == 1
        assert "first" in done.stderr
        assert "second" in done.stderr
        assert keys.find_key(text) is not None
        assert run(f"keys revoke {text}").exit_code == 0
        assert keys.find_key(text) is None


def flask(
    data_dir: Path, line: str, stdin: bytes = b"", **settings: str
) -> subprocess.CompletedProcess[bytes]:
    """Runs a command as an operator does, in a process of its own."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    return run_command(tuple(line.split()), ROOT, variables | environ(data_dir, **settings), stdin)


FLASK = [sys.executable, "-m", "flask", "--app", "wsgi"]


class TestInAProcess:
    def test_on_a_bare_directory_everything_comes_about(self, tmp_path: Path) -> None:
        data_dir = tmp_path / "not" / "there yet"
        made = flask(data_dir, "users create --email a@example.com --password-stdin", PASSWORD.encode())
        assert (made.returncode, made.stdout) == (0, b"Created user 1: a@example.com (admin)\n")
        key = flask(data_dir, "keys create --email a@example.com --name x")
        assert keys.is_whole(key.stdout.decode().removesuffix("\n"))
        assert (key.returncode, key.stderr) == (0, b"")

    def test_two_at_once_on_a_bare_directory_are_both_done(self, tmp_path: Path) -> None:
        command = [*FLASK, "users", "create", "--password-stdin", "--email"]
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        started = [
            subprocess.Popen(
                [*command, f"{i}@example.com"], cwd=ROOT, env=os.environ | environ(tmp_path / "data"), **pipes
            )
            for i in range(2)
        ]
        for process in started:  # each gets its password before any is waited for
            assert process.stdin
            process.stdin.write(PASSWORD.encode())
            process.stdin.close()
            process.stdin = None
        answers = [process.communicate() for process in started]
        assert [process.returncode for process in started] == [0, 0], answers
        assert sum(b"(admin)" in out for out, _ in answers) == 1

    def test_bad_settings_are_named(self, tmp_path: Path) -> None:
        done = flask(tmp_path, "users list", PORT="eighty", PROCESSES="0")
        assert done.returncode == 1
        assert b"WAYPOST_PORT: must be a whole number" in done.stderr
        assert b"WAYPOST_PROCESSES: must be" in done.stderr
        assert b"Traceback" not in done.stderr

    def test_a_directory_that_can_not_be_made_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        done = flask(tmp_path / "file" / "data", "users list")
        assert done.returncode == 1
        assert b"WAYPOST_DATA_DIR: " in done.stderr
        assert b"Traceback" not in done.stderr

    def test_a_database_that_is_not_there_is_said(self, tmp_path: Path) -> None:
        done = flask(tmp_path, "users list", DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
        assert done.returncode == 1
        assert done.stderr.startswith(b"Error: the database does not do this: ")
        assert b"Traceback" not in done.stderr

    def test_a_password_that_is_no_text_is_refused(self, tmp_path: Path) -> None:
        done = flask(tmp_path, "users create --email a@example.com --password-stdin", b"\xff" * 12)
        assert (done.returncode, done.stderr) == (1, b"Error: the password is not in UTF-8\n")


class TestMigrating:
    def test_db_upgrade_makes_both_files_from_anywhere(self, tmp_path: Path) -> None:
        variables = os.environ | environ(tmp_path / "data") | {"PYTHONPATH": str(ROOT)}
        for _ in range(2):
            subprocess.run(
                [*FLASK, "db", "upgrade"], cwd=tmp_path, env=variables, capture_output=True, check=True
            )
        assert (tmp_path / "data" / "main.db").exists()
        assert (tmp_path / "data" / "clicks.db").exists()
        assert flask(tmp_path / "data", "users list").stderr == b""

    def test_a_database_of_a_newer_version_is_left_alone(self, run: Run, session: Session) -> None:
        from sqlalchemy import text

        session.execute(text("UPDATE alembic_version SET version_num = 'of the future'"))
        session.commit()
        done = run("users list")
        assert done.exit_code == 1
        assert "a newer Waypost has written to this database: it is at of the future" in done.stderr


@pytest.mark.settings(OIDC_ISSUER="https://id.example.com/", OIDC_CLIENT_ID="waypost")
class TestSingleSignOn:
    def test_an_address_signs_a_user_in(self, run: Run, alice: User) -> None:
        done = run("users sign-in-link --email alice@example.com")
        assert done.exit_code == 0
        address, _, token = done.output.strip().partition("/login/link?token=")
        assert address == "http://127.0.0.1:8000"
        assert one_time_addresses.find_user(SignInLink, token) == alice

    def test_no_address_for_a_user_who_is_shut_out(self, run: Run, alice: User, bob: User) -> None:
        run("users disable --email bob@example.com")
        done = run("users sign-in-link --email bob@example.com")
        assert (done.exit_code, done.stdout, "is disabled" in done.stderr) == (1, "", True)

    def test_a_user_without_a_password_is_made(self, run: Run, alice: User) -> None:
        done = run("users create --email new@example.com --no-password")
        assert (done.exit_code, done.output) == (0, "Created user 2: new@example.com\n")
        made = services.find_user("new@example.com")
        assert made
        assert not made.has_password
        assert identities.is_waiting(identities.of_user(made, "https://id.example.com"))

    def test_a_link_is_allowed_and_removed(self, run: Run, alice: User, session: Session) -> None:
        run("users allow-single-sign-on --email alice@example.com")
        assert identities.is_waiting(identities.of_user(alice, "https://id.example.com"))
        session.rollback()
        run("users unlink-single-sign-on --email alice@example.com")
        session.rollback()
        assert identities.of_user(alice, "https://id.example.com") is None


@pytest.mark.parametrize("command", ["allow-single-sign-on", "unlink-single-sign-on", "create"])
def test_single_sign_on_needs_a_provider(run: Run, alice: User, command: str) -> None:
    done = run(f"users {command} --email alice@example.com {'--no-password' if command == 'create' else ''}")
    assert done.exit_code == 1
    assert "WAYPOST_OIDC_ISSUER is not set" in done.stderr
