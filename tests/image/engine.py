"""Runs the image by an engine, with the command that the page Container gives."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess

from app.core.folders import ROOT
from tests.docs.pages import blocks_of
from tests.image.containerfile import read_containerfile

ENGINES = ("podman", "docker")


def find_engine() -> str | None:
    return next(filter(shutil.which, ENGINES), None)


def documented_run() -> list[str]:
    """The words of `docker run …`, as the page says them."""
    text = (ROOT / "docs" / "container.md").read_text()
    whole = "\n".join(block.text for block in blocks_of(text)).replace("\\\n", " ")
    (line,) = [each for each in whole.splitlines() if each.startswith("docker run ")]
    return shlex.split(line)[1:]


class EngineContainer:
    """A container of the image with a volume of its own, on a port of this machine."""

    def __init__(self, engine: str, image: str, name: str, port: int) -> None:
        self.engine, self.image, self.name, self.port = engine, image, name, port

    def run(self, *words: str, stdin: str = "", check: bool = True) -> str:
        """Runs a command of the engine, and returns what it says."""
        done = subprocess.run(
            [self.engine, *words], input=stdin, capture_output=True, text=True, check=False, timeout=300
        )
        assert not check or done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
        return done.stdout if check else done.stdout + done.stderr

    def create(self) -> None:
        words = documented_run()
        changes = {
            "--name": self.name,
            "--publish": f"127.0.0.1:{self.port}:8000",
            "--volume": f"{self.name}:/data",
        }
        for option, value in changes.items():
            words[words.index(option) + 1] = value
        self.run(*words[:-1], self.image)

    def execute(self, *words: str, stdin: str = "") -> str:
        return self.run("exec", "--interactive", self.name, *words, stdin=stdin)

    def refuses(self, *words: str) -> str:
        """What a command in the container says that is to fail."""
        return self.run("exec", self.name, *words, check=False)

    def is_healthy(self) -> bool:
        """Asks as HEALTHCHECK does: an engine's own timer may need systemd."""
        (stage,) = [each for each in read_containerfile() if each.name == "runtime"]
        check = stage.last("HEALTHCHECK")
        assert check is not None
        command = [self.engine, "exec", self.name, *json.loads(check.text.removeprefix("CMD "))]
        return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0

    def inspect(self, field: str) -> str:
        return self.run("inspect", "--format", f"{{{{{field}}}}}", self.name).strip()

    def size(self) -> int:
        return int(self.run("image", "inspect", "--format", "{{.Size}}", self.image))

    def remove(self) -> None:
        self.run("rm", "--force", self.name, check=False)
        self.run("volume", "rm", "--force", self.name, check=False)
        self.run("rmi", "--force", self.image, check=False)
