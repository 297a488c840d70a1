"""Reads a Containerfile: its stages, and their instructions with variables filled in."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from app.core.folders import ROOT

FILE = ROOT / "deploy" / "Containerfile"
KNOWN = frozenset(
    [
        "ARG",
        "FROM",
        "WORKDIR",
        "COPY",
        "RUN",
        "ENV",
        "VOLUME",
        "EXPOSE",
        "USER",
        "HEALTHCHECK",
        "STOPSIGNAL",
        "ENTRYPOINT",
        "CMD",
    ]
)


@dataclass(frozen=True)
class Instruction:
    """One instruction. `flags` are its `--name=value`, `text` what follows them."""

    name: str
    flags: dict[str, str]
    text: str

    @property
    def words(self) -> list[str]:
        """The words of an exec form, else those that a shell would read."""
        return json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)

    @property
    def is_exec(self) -> bool:
        return self.text.startswith("[")


@dataclass
class Stage:
    """What follows one FROM. `parent` is an image, or an earlier stage."""

    parent: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def last(self, name: str) -> Instruction | None:
        found = [each for each in self.instructions if each.name == name]
        return found[-1] if found else None


def read_containerfile(path: Path = FILE) -> list[Stage]:
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    whole = re.sub(r"\\\n\s*", "", "\n".join(lines))
    stages: list[Stage] = []
    arguments: dict[str, str] = {}  # before the first FROM
    for line in filter(str.strip, whole.splitlines()):
        instruction = read_instruction(line)
        assert instruction.name in KNOWN, line
        if instruction.name == "FROM":
            parent, _, name = instruction.text.partition(" AS ")
            stages.append(Stage(fill(parent, arguments), name))
        elif stages:
            stages[-1].instructions.append(instruction)
        else:
            arguments |= dict([instruction.text.split("=", 1)])
    return stages


def read_instruction(line: str) -> Instruction:
    name, _, rest = line.strip().partition(" ")
    flags = {}
    while found := re.match(r"--([\w-]+)=(\S+)\s+", rest):
        flags[found[1]] = found[2]
        rest = rest[found.end() :]
    return Instruction(name, flags, rest.strip())


def fill(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\$\{?(\w+)\}?", lambda found: values.get(found[1], found[0]), text)


def is_ignored(path: str) -> bool:
    """Whether `.containerignore` keeps a path of the root out of the build: its last matching line decides."""
    ignored = False
    for line in (ROOT / ".containerignore").read_text().splitlines():
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        is_kept, pattern = pattern.startswith("!"), pattern.removeprefix("!")
        if matches(path, pattern):
            ignored = not is_kept
    return ignored


def matches(path: str, pattern: str) -> bool:
    """Whether the pattern fits the path or a folder that it is in."""
    parts = path.split("/")
    prefixes = ["/".join(parts[: number + 1]) for number in range(len(parts))]
    if pattern.startswith("**/"):
        return any(fnmatch(part, pattern[3:]) for part in parts)
    return any(fnmatch(prefix, pattern) for prefix in prefixes if prefix.count("/") == pattern.count("/"))
