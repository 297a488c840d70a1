"""`serve`: what it prints about its address, and why it refuses some addresses."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask

from app.cli.serve import describe_addresses
from app.core.config import Settings
from app.core.folders import ROOT
from app.operations.database import migrate_first


def test_a_wildcard_prints_an_address_that_opens(settings: Settings) -> None:
    everywhere = " and on every other address of this machine"
    assert describe_addresses(settings) == "http://127.0.0.1:8000"
    assert describe_addresses(replace(settings, host="0.0.0.0")) == f"http://127.0.0.1:8000{everywhere}"
    assert describe_addresses(replace(settings, host="::")) == f"http://[::1]:8000{everywhere}"
    assert describe_addresses(replace(settings, host="2001:db8::7")) == "http://[2001:db8::7]:8000"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "go.example"])
def test_the_option_takes_what_the_setting_takes(app: Flask, host: str) -> None:
    done = app.test_cli_runner().invoke(args=["serve", "--host", host])
    assert done.exit_code == 2
    assert "must be an IP address" in done.output


@pytest.mark.settings(PROT="9000")
def test_a_start_names_what_is_no_setting(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    with app.app_context(), caplog.at_level(logging.WARNING):
        migrate_first()
    (said,) = [record.getMessage() for record in caplog.records if "not a setting" in record.getMessage()]
    assert "WAYPOST_PROT" in said
    assert "WAYPOST_PORT?" in said


@pytest.mark.settings(PROT="9000")
def test_doctor_names_what_is_no_setting(app: Flask) -> None:
    done = app.test_cli_runner().invoke(args=["doctor"])
    assert "WAYPOST_PROT is not a setting" in done.output
    assert "WAYPOST_PORT?" in done.output


FROM_ANYWHERE = {
    "flask": lambda _folder: [Path(sys.executable).with_name("flask"), "--app", str(ROOT / "wsgi")],
    "waypost": lambda _folder: [ROOT / "waypost"],
    "a link to it": lambda folder: [link_to(ROOT / "waypost", folder / "way")],
}


def link_to(target: Path, link: Path) -> Path:
    link.symlink_to(target)
    return link


@pytest.mark.full
@pytest.mark.parametrize("name", FROM_ANYWHERE)
def test_a_command_works_from_any_folder(name: str, data_dir: Path, tmp_path: Path) -> None:
    """Runs in a process of its own (2 s), where nothing of Waypost is on the path yet."""
    command = [*FROM_ANYWHERE[name](tmp_path), "openapi"]
    given = {"PATH": os.defpath, "WAYPOST_DATA_DIR": str(data_dir)}
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"openapi"' in done.stdout


def test_the_launcher_keeps_to_its_own_folder(data_dir: Path, tmp_path: Path) -> None:
    """Modules and settings in the folder that it is run from are not used."""
    (tmp_path / ".env").write_text("WAYPOST_PORT=of another program\n")
    for module in ("flask", "app", "wsgi"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('the wrong module')\n")
    given = {"PATH": os.defpath, "WAYPOST_DATA_DIR": str(data_dir)}
    command = [ROOT / "waypost", "users", "create", "--nothing"]
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: waypost users create ")


def test_the_launcher_says_that_nothing_is_installed(tmp_path: Path) -> None:
    launcher = Path(shutil.copy(ROOT / "waypost", tmp_path))
    done = subprocess.run([launcher, "doctor"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"make -C {tmp_path} install" in done.stderr
