"""Every command in the documentation is run here, is run by another test, or has a reason why not.

Whatever it is, a command of Waypost must exist with the options that the page gives it.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from app.cli import COMMANDS
from app.core.folders import ROOT
from tests.docs.pages import block_after, blocks_of
from tests.server import Server, wait_for

# whose commands are run by tests of their own
ELSEWHERE = {
    "install.md": "tests/test_package.py, and what tests the files of deploy/",
    "upgrade.md": "the tests of upgrades",
    "backups.md": "tests/operations",
    "container.md": "tests/image; the page says what no engine has tried",
    "single-sign-on.md": "tests/cli/test_users_and_keys.py: they need a provider",
    "clients.md": "clients/python/tests, which tests/test_python_client.py runs",
    "CONTRIBUTING.md": "tests/recipes follows the recipes; the rest are the targets that CI runs",
}
README = "tests/test_documents.py runs this block as pasted"
MACHINE = "needs another machine, or a server that the page does not make"

# the first that matches a line tells: None is run here, else the reason why not
LINES: tuple[tuple[str, str | None], ...] = (
    (r"README.md: make ", "tests/recipes and CI run these targets"),
    (r"README.md: ", README),
    (r"quick-start.md: make run", "starts the server that this test starts, too"),
    (r"scaling.md: createdb ", MACHINE),
    (r"scaling.md: \./waypost db copy ", "tests/operations/test_database_copy.py: Waypost must be stopped"),
    (
        r"secret-key.md: \./waypost secrets adopt",
        "refused while the right key is there: tests/core/secret_keys tries it",
    ),
    (r"monitoring.md: \.venv/bin/pip install ", "CI installs the same packages, by requirements-dev.txt"),
    (r"events.md: \./waypost events follow", "goes on until it is ended: its own tests end it"),
    (r".*: ", None),
)


class Line(NamedTuple):
    """One command with its page, on one line."""

    page: str
    text: str

    @property
    def reason(self) -> str | None:
        return next(reason for start, reason in LINES if re.match(start, f"{self.page}: {self.text}"))


def pages() -> list[Path]:
    return [
        *sorted((ROOT / "docs").glob("*.md")),
        *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING")),
    ]


def lines_of(path: Path) -> Iterator[Line]:
    for block in blocks_of(path.read_text()):
        if block.language != "sh":
            continue
        for text in block.text.replace("\\\n", " ").splitlines():
            command = re.sub(r"\s+# .*$", "", text).strip()
            if command and not command.startswith("#") and not re.match(r"WAYPOST_\w+=", command):
                yield Line(path.name, command)


LINES_OF_PAGES = [line for path in pages() for line in lines_of(path)]
OURS = [line for line in LINES_OF_PAGES if line.page not in ELSEWHERE]
RUN = [line for line in OURS if line.reason is None]


def calls_of_waypost(text: str) -> list[list[str]]:
    """The arguments of each call of `./waypost` in a line of a shell."""
    found = re.findall(r"\./waypost ([^|>&)]*)", text)
    return [shlex.split(each.partition(" #")[0]) for each in found]


CALLS = [(line.page, call) for line in LINES_OF_PAGES for call in calls_of_waypost(line.text)]
WITH_GROUPS = {command.name: command for command in COMMANDS}


@pytest.mark.parametrize(("page", "call"), CALLS, ids=[" ".join([page, *call[:2]]) for page, call in CALLS])
def test_a_command_has_the_options_that_a_page_gives_it(page: str, call: list[str]) -> None:
    name, *rest = call
    if name == "db":  # Flask-Migrate's group, to which ours are added
        return
    command: click.Command = WITH_GROUPS[name]
    if isinstance(command, click.Group):
        command, rest = command.commands[rest[0]], rest[1:]
    options = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    given = {argument.partition("=")[0] for argument in rest if argument.startswith("--")}
    assert given <= options | {"--help"}


def test_every_line_is_run_or_says_why_not() -> None:
    assert len(RUN) >= 10
    assert all(line.reason for line in OURS if line not in RUN)
    used = {next(start for start, _ in LINES if re.match(start, f"{one.page}: {one.text}")) for one in OURS}
    assert used == {start for start, _ in LINES}, "these lines are on no page"


class Shell:
    """A folder with `./waypost`, whose commands act on the instance of a server."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.environ = server.environ | {"no_proxy": "*"}
        (folder / "waypost").symlink_to(ROOT / "waypost")
        (folder / "links.csv").write_text(block_after("move.md", "example: Bitly").text)

    def run(self, command: str) -> str:
        for written, here in {
            "https://old.example": self.server.url,
            "https://go.example": self.server.url,
            "http://127.0.0.1:8000": self.server.url,
            "/mnt/lost/waypost/journal": str(self.folder / "lost"),
        }.items():
            command = command.replace(written, here)
        done = subprocess.run(
            ["sh", "-eu", "-c", command],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.mark.full
def test_the_commands_work_as_they_stand(make_server: Callable[..., Server], tmp_path: Path) -> None:
    if not (ROOT / ".venv/bin/python").exists():
        pytest.skip("./waypost needs the environment that make install builds")
    shell = Shell(make_server(), tmp_path)
    first = [line.text for line in RUN if line.page == "quick-start.md"]
    *_, last = [shell.run(text) for text in first]
    assert last == "302 https://example.com/\n"
    key = shell.run("./waypost keys create --email you@example.com --name tests").strip()
    shell.environ |= {"KEY": key, "OLD_KEY": key}
    read = f"curl -s {shell.server.url}/api/links/1 -H 'Authorization: Bearer {key}'"
    wait_for(lambda: '"clicks":1' in shell.run(read).replace(" ", ""), "the counted click")
    shutil.copytree(shell.server.data_dir / "journal", tmp_path / "lost")
    for line in RUN:
        if line.page != "quick-start.md":
            shell.run(line.text)
    assert '"hello"' in (tmp_path / "links.json").read_text()


def test_no_more_than_three_commands_to_the_first_click() -> None:
    block = block_after("quick-start.md", "quick start")
    assert len(block.text.splitlines()) <= 3
