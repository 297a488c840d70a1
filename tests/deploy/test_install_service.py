"""The three commands that install Waypost as a service, in a scratch system; systemd itself is a stand-in."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests.docs.pages import block_after
from tests.image.scratch import Layer, is_possible

pytestmark = pytest.mark.full

UNITS = sorted(path.name for path in (ROOT / "deploy" / "systemd").iterdir())
# notes what it is told, as there is no systemd in the scratch system
SYSTEMCTL = '#!/bin/sh\necho "$@" >>/var/tmp/told\n'


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    folder = tmp_path_factory.mktemp("system")
    if not is_possible(folder):
        pytest.skip("this user can't mount an overlay")
    layer = Layer(folder / "system")
    (layer.upper / "usr/local/bin/systemctl").write_text(SYSTEMCTL)
    (layer.upper / "usr/local/bin/systemctl").chmod(0o755)
    dist = layer.upper / "var/tmp/release/dist"
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(dist), str(ROOT)]
    subprocess.run(command, capture_output=True, check=True)
    # the machine's own may be here
    for name in ("srv/waypost", "var/lib/waypost"):
        assert not Path("/", name).exists()
    return layer


def commands() -> list[str]:
    return [
        line.partition("   #")[0].strip()
        for line in block_after("install.md", "three commands: service").text.splitlines()
    ]


@pytest.fixture(scope="module")
def installed(system: Layer) -> Layer:
    unpack, install, last = commands()
    assert last.startswith("journalctl --unit waypost")
    for command in (unpack, install):
        done = system.run(["sh", "-euc", f"umask 022; cd /var/tmp/release && {command}"])
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return system


def test_it_writes_settings_and_units_and_starts_them(installed: Layer) -> None:
    settings = installed.upper / "srv/waypost/.env"
    assert settings.read_text().splitlines() == [
        "WAYPOST_DATA_DIR=/var/lib/waypost",
        "WAYPOST_PROCESSES=2",
        "WAYPOST_BASE_URL=https://go.example",
        "WAYPOST_TRUSTED_PROXIES=1",
    ]
    listed = installed.run(["stat", "--format=%a %U %G", "/srv/waypost/.env"]).stdout.split()
    assert listed == ["640", "root", "waypost"]
    sockets = (ROOT / "deploy/systemd/waypost.socket").read_text()
    assert len(re.findall("^ListenStream=", sockets, re.MULTILINE)) == 2
    assert sorted(path.name for path in (installed.upper / "etc/systemd/system").iterdir()) == UNITS
    assert (installed.upper / "var/tmp/told").read_text().splitlines() == [
        "daemon-reload",
        "enable --now waypost.socket waypost.service waypost-backup.timer",
    ]


REFUSALS = {
    "not root": (
        ["setpriv", "--reuid=65534", "--clear-groups", "/srv/waypost/deploy/install-service"],
        "as root",
    ),
    "elsewhere": (["/var/tmp/copy/deploy/install-service"], "unpack the release there"),
}


@pytest.mark.parametrize(("words", "said"), REFUSALS.values(), ids=REFUSALS)
def test_it_refuses_before_it_changes_anything(installed: Layer, words: list[str], said: str) -> None:
    copy = installed.upper / "var/tmp/copy/deploy"
    copy.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "deploy" / "install-service", copy)
    done = installed.run(words)
    assert (done.returncode, said in done.stderr) == (1, True)


def test_run_again_it_leaves_settings_as_they_are(installed: Layer) -> None:
    settings = installed.upper / "srv/waypost/.env"
    before = settings.read_text()
    assert installed.run(["/srv/waypost/deploy/install-service", "https://other.example"]).returncode == 0
    assert settings.read_text() == before
