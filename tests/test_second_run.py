"""The second run of failed tests, with throwaway tests that fail once, always, or at their end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests import second_run

FAIL_ONCE = """
import pathlib
import pytest

@pytest.fixture
def ends_badly():
    yield
    assert has_run("end")

def has_run(name):
    was_there = pathlib.Path(name).exists()
    pathlib.Path(name).touch()
    return was_there

def test_passes(): pass
def test_fails_once(): assert has_run("once")
def test_ends_badly_once(ends_badly): pass
"""
FAILS_ALWAYS = "def test_fails_always(): assert False\n"
FAIL_OFTEN = "\n".join(f"def test_{number}(): assert False" for number in range(second_run.MOST + 1))
IN_PROCESSES = ("-p", "xdist", "-n", "2", "--dist", "loadfile")
ONCE_MORE = ("--last-failed", "--last-failed-no-failures=none", "-p", "tests.second_run")
CASES = {
    # tests, exit code of the second run, names in its block, its closing line
    "passes": (FAIL_ONCE, 0, ["test_ends_badly_once", "test_fails_once"], "2 passed"),
    "fails again": (
        FAIL_ONCE + FAILS_ALWAYS, 1, ["test_ends_badly_once", "test_fails_once"], "1 failed, 2 passed",
    ),
    "too many": (FAIL_OFTEN, 1, [], "11 tests failed: too many to run again"),
    "none failed, as where pytest itself broke": ("def test_passes(): pass", 5, [], "1 deselected"),
}  # fmt: skip


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], cwd=directory, env=environ, capture_output=True, text=True, check=False
    )  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_what_passes_only_alone_is_named(case: str, tmp_path: Path) -> None:
    """First as `make test` runs them, in several processes."""
    tests, code, names, closing = CASES[case]
    (tmp_path / "test_it.py").write_text(tests)
    run(tmp_path, *IN_PROCESSES)
    again = run(tmp_path, *ONCE_MORE)
    assert again.returncode == code, again.stdout
    _, _, block = again.stdout.partition(f" {second_run.HEADING} =")
    listed = [line for line in block.splitlines() if line.startswith("test_it.py::")]
    assert sorted(listed) == [f"test_it.py::{name}" for name in names]
    assert closing in again.stdout.splitlines()[-1]


def test_the_makefile_runs_it_so() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\ntest:")[2].partition("\n.PHONY")[0]
    assert " ".join(ONCE_MORE) in recipe
