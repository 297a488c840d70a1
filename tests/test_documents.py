"""Do the pages that people read say what is true?"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from app.config import ROOT, TABLE
from tests.server import Server

README = (ROOT / "README.md").read_text()


def after(mark: str) -> str:
    return README.partition(f"<!-- {mark} -->\n")[2]


def test_every_setting_is_in_the_readme_in_order() -> None:
    assert [name for name, _, _ in settings_rows()] == list(TABLE)


NOT_SAME = ("DATA_DIR", "PROCESSES")  # on every machine


def test_the_readme_has_the_defaults() -> None:
    written = {name: default for name, _, default in settings_rows() if default.startswith("`")}
    plain = {name: f"`{default}`" for name, (default, _) in TABLE.items() if default and name not in NOT_SAME}
    assert written == plain | {"DATA_DIR": "`instance/`"}


def test_the_mark_says_which_settings_do_nothing_yet() -> None:
    code = "".join(path.read_text() for path in ROOT.glob("app/**/*.py") if path.name != "config.py")
    unused = [name for name in TABLE if not re.search(rf"\.{name.lower()}\b", code)]
    assert [name for name, mark, _ in settings_rows() if mark] == unused


def settings_rows() -> list[tuple[str, str, str]]:
    table = after("settings").partition("\n\n")[0]
    return re.findall(r"^\| `([A-Z_]+)`( \*)? \| ?(.*?) ?\|", table, re.MULTILINE)


def test_the_first_link_works_as_pasted(make_server: Callable[..., Server], tmp_path: Path) -> None:
    server = make_server()
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (tmp_path / "wsgi.py").symlink_to(ROOT / "wsgi.py")
    commands = after("first link").partition("```sh\n")[2].partition("```")[0].replace("127.0.0.1:8000", f"127.0.0.1:{server.port}")  # fmt: skip
    environ = server.environ | {"PYTHONPATH": str(ROOT), "no_proxy": "*"}
    done = subprocess.run(["sh", "-eu"], input=commands, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "302 https://example.com/\n" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["data"]["clicks"] == 1


def test_every_place_that_the_map_names_is_there() -> None:
    rows = README.partition("## The map of the house")[2]
    places = re.findall(r"`((?:app|tests|bench|docs|contrib)/[\w./]*)`", rows)
    assert len(places) > 20
    assert not [place for place in places if not (ROOT / place).exists()]


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt", "docs/dependencies.md"])
def test_every_dependency_is_pinned_and_explained(file: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"]
    if file != "requirements.txt":
        wanted = wanted + project["dependency-groups"]["dev"]
    names = {re.split(r"[\[<>=;~! ]", line)[0] for line in wanted}
    told = set(
        re.findall(r"^(?:\| )?([a-z0-9-]+)(?:\[\w+\])?(?:==| \|)", (ROOT / file).read_text(), re.MULTILINE)
    )
    assert sorted(names - told) == []


@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx here to read its file")
def test_nginx_reads_the_file_for_it(tmp_path: Path) -> None:
    site = re.sub(r"listen (\d+)", r"listen 127.0.0.1:4\1", (ROOT / "contrib" / "nginx.conf").read_text())
    site = re.sub(r"(listen \S+) ssl", r"\1", site)
    site = re.sub(r"^\s*ssl_certificate.*\n", "", site, flags=re.MULTILINE)
    whole = f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off; {site} }}"
    (tmp_path / "nginx.conf").write_text(whole)
    command = ["nginx", "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
