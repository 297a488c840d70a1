"""`clients/python`: its own tests, in an environment of its own, and its distance from the application.

`make test` builds the environment, `.venv-client`: the client is installed elsewhere, so it is tested without Waypost's
own packages. The tests start a server of this tree.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from app.core.folders import ROOT

CLIENT = ROOT / "clients" / "python"
PYTHON = ROOT / ".venv-client" / "bin" / "python"


@pytest.mark.timeout(3600)
def test_its_own_tests_pass(request: pytest.FixtureRequest) -> None:
    if shutil.which(PYTHON) is None:
        pytest.skip("no environment for the client here: `make .venv-client/installed`")
    options = ["--full"] if request.config.option.full else []
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [str(PYTHON), "-m", "pytest", "-q", "--color=no", *options]
    done = subprocess.run(command, cwd=CLIENT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def imported(path: Path) -> set[str]:
    """The top-level packages that a module imports."""
    tree = ast.parse(path.read_text())
    found = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    found |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in found}


def test_neither_imports_the_other() -> None:
    theirs = [path for path in CLIENT.rglob("*.py") if "app" in imported(path)]
    ours = [path for path in ROOT.glob("app/**/*.py") if "waypost_client" in imported(path)]
    assert (theirs, ours) == ([], [])
