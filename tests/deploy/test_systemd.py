"""The shipped systemd units: correct and hardened. `test_real_systemd.py` runs Waypost under them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from app.core.folders import ROOT

UNITS = ROOT / "deploy" / "systemd"
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="no systemd-analyze here to read the units"
)
MOST_EXPOSURE = 20  # of a hundred


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units as they are on a machine where this tree lies in /srv/waypost."""
    for path in UNITS.iterdir():
        text = path.read_text().replace("/srv/waypost", str(ROOT))
        (tmp_path / path.name).write_text(re.sub(r"^(User|Group)=.*", r"\1=root", text, flags=re.MULTILINE))
    return tmp_path


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", "--no-pager", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )


@needs_systemd
def test_the_units_are_correct(units: Path) -> None:
    done = analyze("verify", *(str(path) for path in sorted(units.iterdir())))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("name", ["waypost.service", "waypost-backup.service"])
def test_the_services_are_hardened(name: str) -> None:
    done = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSURE}", str(UNITS / name))
    assert done.returncode == 0, done.stdout + done.stderr


def hardening(name: str) -> list[str]:
    text = (UNITS / name).read_text()
    lines = text[text.index("AmbientCapabilities=") :].splitlines()
    return [line for line in lines if "=" in line and not line.startswith("WantedBy")]


def test_both_services_are_hardened_alike() -> None:
    assert hardening("waypost.service") == hardening("waypost-backup.service")
