"""Documents: README, docs and deploy agree with the code."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from types import ModuleType

import pytest

from app.cli import COMMANDS
from app.core.config import TABLE
from app.core.folders import ROOT
from app.events.types import TYPES as FEED_TYPES
from app.notifications.body_template import PLACEHOLDERS
from app.notifications.composing import all_types
from tests.server import Server
from tests.test_architecture import LAYERS

README = (ROOT / "README.md").read_text()
PAPERS = ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")


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
    return re.findall(r"^\| `([A-Z0-9_]+)`( \*)? \| ?(.*?) ?\|", table, re.MULTILINE)


@pytest.mark.full
def test_the_first_link_works_as_pasted(make_server: Callable[..., Server], tmp_path: Path) -> None:
    server = make_server()
    (tmp_path / "waypost").symlink_to(ROOT / "waypost")
    commands = after("first link").partition("```sh\n")[2].partition("```")[0].replace("127.0.0.1:8000", f"127.0.0.1:{server.port}")  # fmt: skip
    environ = server.environ | {"no_proxy": "*"}
    done = subprocess.run(["sh", "-eu"], input=commands, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "302 https://example.com/\n" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["data"]["clicks"] == 1


def test_ci_runs_the_tests_as_the_readme_says() -> None:
    command = re.search(r"`\.ci/run` runs `make ([\w-]+)`", README)
    assert command and f"part {command[1]}\n" in re.sub(" +#.*", "", (ROOT / ".ci/run").read_text())


def test_every_place_that_the_map_names_is_there() -> None:
    rows = README.partition("## Code map")[2]
    places = re.findall(r"`((?:app|tests|bench|docs|deploy)/[\w./]*)`", rows)
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
    site = re.sub(r"listen (\d+)", r"listen 127.0.0.1:4\1", (ROOT / "deploy" / "nginx.conf").read_text())
    site = re.sub(r"(listen \S+) ssl", r"\1", site)
    site = re.sub(r"^\s*ssl_certificate.*\n", "", site, flags=re.MULTILINE)
    whole = f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off; {site} }}"
    (tmp_path / "nginx.conf").write_text(whole)
    command = ["nginx", "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr


DECISIONS = sorted(path for path in (ROOT / "docs/decisions").glob("*.md") if path.name != "README.md")


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_a_date_a_status_and_a_line_in_the_index(path: Path) -> None:
    title, empty, about, *_ = path.read_text().splitlines()
    assert (title[:2], empty) == ("# ", "")
    date = path.name[:10]
    assert re.match(rf"{date} · (accepted|replaced by \[.*\]\(.*\))[.;]", about), about
    line = f"- [{title[2:]}]({path.name}), {date}"
    lines = (ROOT / "docs/decisions/README.md").read_text().splitlines()
    assert [each for each in lines if each.removesuffix("; parts replaced") == line] != []
    assert ("parts replaced by" in about) == (f"{line}; parts replaced" in lines)


SOURCES = [path for path in ROOT.glob("app/**/*") if path.suffix in {".py", ".html", ".js", ".css"}]
SOURCES += ROOT.glob("scripts/*.py")
POINTERS = {name for path in SOURCES for name in re.findall(r"docs/decisions/([\w-]+\.md)", path.read_text())}


def test_the_code_points_to_decisions() -> None:
    """To every one in force, where a reader would ask why; and to none that is not there."""
    in_force = {path.name for path in DECISIONS if "· accepted" in path.read_text()}
    assert not sorted(in_force - POINTERS)
    assert not sorted(POINTERS - {path.name for path in DECISIONS})


PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / f"{name}.md" for name in PAPERS)]
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to a page's headings."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    found = LINK.findall(page.read_text())
    targets = [((page.parent / path).resolve() if path else page, anchor) for path, anchor in found]
    assert not [path for path, _ in targets if not path.exists()]
    assert not [(path, anchor) for path, anchor in targets if anchor and anchor not in anchors(path)]


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text()
    assert not [page.name for page in (ROOT / "docs").glob("[a-z]*.md") if f"({page.name})" not in index]


def table(page: str, mark: str) -> list[str]:
    """The first column of the table after a mark."""
    rows = (ROOT / "docs" / page).read_text().partition(f"<!-- {mark} -->\n")[2].partition("\n\n")[0]
    return re.findall(r"^\| `([\w.]+)` \|", rows, re.MULTILINE)


def test_every_command_is_explained() -> None:
    visible = [command.name for command in COMMANDS if not command.hidden]
    assert sorted(table("operate.md", "commands")) == sorted([*visible, "db"])


def test_every_event_is_explained() -> None:
    assert sorted(table("webhooks.md", "events")) == sorted(all_types())


def test_every_event_of_the_feed_is_explained() -> None:
    assert table("events.md", "feed") == list(FEED_TYPES)


def test_every_placeholder_of_a_body_is_documented() -> None:
    text = (ROOT / "docs" / "webhooks.md").read_text().partition("<!-- placeholders -->\n")[2]
    rows = text.partition("\n\n")[0].splitlines()[2:]
    found = [name for row in rows for name in re.findall(r"`([a-z.-]+_?[a-z]*)`", row.split("|")[1])]
    assert sorted(found) == sorted(PLACEHOLDERS)


# --- docs/architecture.md

ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
PACKAGES = {path.stem for path in (ROOT / "app").iterdir()}
NAMED = sorted(
    name
    for name in set(re.findall(r"`([a-z_]+(?:\.\w+)+)`", ARCHITECTURE))
    if name.partition(".")[0] in PACKAGES
)


def find_module(name: str) -> tuple[ModuleType, list[str]]:
    """The module that a dotted name below `app` begins with, and the rest of the name."""
    parts = name.split(".")
    paths = [ROOT.joinpath("app", *parts[:end]) for end in range(1, len(parts) + 1)]
    depth = sum(path.is_dir() or path.with_suffix(".py").exists() for path in paths)
    return importlib.import_module(".".join(["app", *parts[:depth]])), parts[depth:]


@pytest.mark.parametrize("name", NAMED)
def test_a_name_in_the_architecture_exists(name: str) -> None:
    found, rest = find_module(name)
    reduce(getattr, rest, found)


def test_the_architecture_has_the_layers() -> None:
    block = ARCHITECTURE.partition("<!-- layers -->\n```\n")[2].partition("```")[0]
    layers = [set(line.split()) for line in block.splitlines()]
    assert layers == [set(line.split()) - {"__init__"} for line in LAYERS]
