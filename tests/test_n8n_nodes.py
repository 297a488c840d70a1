"""`clients/n8n`: n8n's linters and the package's own tests, where there is Node.js.

`make test` fetches what they need. The tests start a server of this tree.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from app.core.folders import ROOT

NODES = ROOT / "clients" / "n8n"

pytestmark = pytest.mark.skipif(
    shutil.which("npm") is None or not (NODES / "node_modules").exists(),
    reason="needs npm and what it fetches: make node-clients",
)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("script", ["lint", "test"])
def test_its_own(script: str) -> None:
    command = ["npm", "run", "--silent", script]
    environ = os.environ | {"NO_COLOR": "1"}
    done = subprocess.run(command, cwd=NODES, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_has_what_n8n_loads() -> None:
    """After the tests, which build it. Nothing of it needs another package at run time."""
    package = json.loads((NODES / "package.json").read_text())
    assert "dependencies" not in package
    for path in (*package["n8n"]["nodes"], *package["n8n"]["credentials"]):
        assert (NODES / path).exists(), path
