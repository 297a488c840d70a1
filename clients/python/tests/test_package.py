"""The package: a wheel in an empty environment gives the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from sysconfig import get_path

import pytest
from waypost_client import VERSION

from tests.instance import Waypost

HERE = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place), str(HERE))
    return next(place.glob("*.whl"))


def run(*command: str, **environ: str) -> str:
    done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_holds_the_package_alone(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    files = {str(path.relative_to(HERE)) for path in (HERE / "waypost_client").rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name} - inside == set()
    assert {name.split("/")[0] for name in inside} == {
        "waypost_client",
        f"waypost_client-{VERSION}.dist-info",
    }
    assert "waypost_client/py.typed" in inside


def test_its_command_works_in_an_environment_of_its_own(
    wheel: Path, tmp_path: Path, waypost: Waypost
) -> None:
    venv.create(tmp_path / "env", symlinks=True)
    packages = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (packages / "libraries.pth").write_text(get_path("purelib"))  # the pinned ones, without asking a registry
    python = str(tmp_path / "env" / "bin" / "python")
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--disable-pip-version-check",
    )
    run(*pip, "--no-deps", "--no-index", str(wheel))
    way = str(tmp_path / "env" / "bin" / "way")
    environ = {"WAY_URL": waypost.url, "WAY_KEY": waypost.key, "PYTHONPATH": ""}
    assert run(way, "--version").strip() == VERSION
    made = json.loads(run(way, "create", "https://example.com/", "--json", **environ))
    assert made["short_url"] in run(way, "show", str(made["id"]), **environ)
