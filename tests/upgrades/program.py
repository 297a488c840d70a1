"""The program of an earlier commit, from the history of this repository, and a server of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from app.core.folders import ROOT
from tests.server import Server

PARTS = ("app", "wsgi.py", "pyproject.toml")


def is_known(commit: str) -> bool:
    """Whether the history is here: archives and shallow clones have none."""
    command = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def unpack_program(commit: str, folder: Path) -> Path:
    folder.mkdir()
    packed = subprocess.run(["git", "archive", commit, *PARTS], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x"], cwd=folder, input=packed.stdout, check=True)
    return folder


class OldServer(Server):
    """`serve` of an earlier release, with the libraries of this one."""

    def __init__(self, program: Path, data_dir: Path, **settings: str) -> None:
        super().__init__(data_dir, **settings)
        self.folder = program
        self.environ.pop("PYTHONPATH", None)

    def flask(self, *arguments: str, stdin: str = "") -> str:
        command = [*self.program, *arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{arguments} failed: {done.stderr}"
        return done.stdout

    def refused(self, *arguments: str) -> str:
        """What a command says that must fail."""
        command = [sys.executable, "-m", "flask", "--app", "wsgi", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode != 0, done.stdout
        return done.stderr
