"""`flask events`: lines of JSON, the cursor to go on with, and an end by Ctrl-C."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from app.accounts.models import User
from app.core.config import Settings
from app.core.folders import PROGRAM, ROOT
from tests.events.conftest import Feed, feed, make  # noqa: F401  fixtures

Run = Callable[..., Any]
Make = Callable[..., Any]


@pytest.fixture
def run(app: Flask) -> Run:
    return lambda *arguments: app.test_cli_runner().invoke(args=["events", *arguments])


def types_of(text: str) -> list[str]:
    return [json.loads(line)["type"] for line in text.splitlines()]


@pytest.mark.databases
def test_all_events_and_where_to_go_on(run: Run, feed: Feed, make: Make) -> None:
    link = make("spring")
    feed.sequence()
    feed.visit(link.id, 3)
    done = run("follow", "--all", "--once")
    assert done.exit_code == 0
    assert types_of(done.stdout) == ["link.created", *["link.clicked"] * 3]
    cursor = done.stderr.split()[-1]
    assert run("follow", "--after", cursor, "--once").stdout == ""
    feed.visit(link.id)
    assert types_of(run("follow", "--after", cursor, "--once").stdout) == ["link.clicked"]
    assert types_of(run("follow", "--all", "--once", "--type", "link.created").stdout) == ["link.created"]
    assert run("follow", "--all", "--once", "--link", "99").stdout == ""
    assert run("follow", "--once").stdout == ""  # from now on


def test_which_workspace(run: Run, feed: Feed, make: Make, bob: User) -> None:
    make("spring")
    feed.sequence()
    refused = run("follow", "--all", "--once")
    assert refused.exit_code == 2
    assert "--workspace" in refused.stderr
    assert len(types_of(run("follow", "--all", "--once", "--workspace", str(feed.workspace_id)).stdout)) == 1
    assert run("follow", "--all", "--once", "--workspace", str(bob.id)).stdout == ""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["follow", "--after", "nonsense"], 1),
        (["follow", "--after", "x", "--all"], 2),
        (["follow", "--type", "link.seen"], 2),
        (["follow", "--workspace", "0"], 2),
    ],
)
def test_what_is_refused(run: Run, alice: User, arguments: list[str], code: int) -> None:
    done = run(*arguments)
    assert done.exit_code == code
    assert "Traceback" not in done.output


def test_status(run: Run, feed: Feed, make: Make) -> None:
    make("spring")
    assert run("status").stdout.split()[-3:] == ["1", "0", "1"]
    feed.sequence()
    assert run("status").stdout.split()[-3:] == ["1", "1", "0"]


def test_it_waits_and_ends_with_control_c(feed: Feed, make: Make, settings: Settings) -> None:
    link = make("spring")
    feed.sequence()
    environ = os.environ | {
        "WAYPOST_DATA_DIR": str(settings.data_dir),
        "WAYPOST_DATABASE_URL": settings.database_url,
    }
    command = [*PROGRAM, "events", "follow", "--all"]
    pipe = subprocess.PIPE
    # where the tests run in the background, SIGINT is ignored, and would be by the command
    command = ["env", "--default-signal=INT", *command]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["type"] == "link.created"
        feed.visit(link.id)
        assert json.loads(process.stdout.readline())["type"] == "link.clicked"
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=20)
    assert (process.returncode, rest) == (0, "")
    assert "--after" in errors
    assert "Traceback" not in errors
