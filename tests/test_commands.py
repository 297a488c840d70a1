"""Commands in forks behave as commands in processes that were started for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests.commands import run_command

CREATE = ("users", "create", "--email", "one@example.com", "--password-stdin")
PASSWORD = b"five small boats go upriver\n"
CASES = {"stores what it reads": PASSWORD, "is refused": b"short\n"}


def last_line(written: bytes) -> bytes:
    """Without the time at its beginning."""
    return written.splitlines()[-1].partition(b" ")[2] if written else b""


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_the_same_code_and_output(case: str, tmp_path: Path) -> None:
    environs = [os.environ | {"WAYPOST_DATA_DIR": str(tmp_path / name)} for name in ("fork", "process")]
    forked = run_command(CREATE, ROOT, environs[0], CASES[case])
    command = [sys.executable, "-m", "flask", "--app", "wsgi", *CREATE]
    started = subprocess.run(
        command, cwd=ROOT, env=environs[1], input=CASES[case], capture_output=True, check=False
    )
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert last_line(forked.stderr) == last_line(started.stderr)
    listed = run_command(("users", "list"), ROOT, environs[0]).stdout
    assert (b"one@example.com" in listed) == (forked.returncode == 0)


def test_nothing_of_it_is_left_here(tmp_path: Path) -> None:
    before = dict(os.environ), Path.cwd()
    run_command(("users", "list"), ROOT, os.environ | {"WAYPOST_DATA_DIR": str(tmp_path)})
    assert (dict(os.environ), Path.cwd()) == before
