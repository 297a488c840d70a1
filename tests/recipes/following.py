"""Follows a recipe of CONTRIBUTING: reads its steps, and does them on a copy of the tree.

A step is a numbered line that ends with a colon, and the code block below it:

- "Make `path`:" makes a file of the block.
- "Add to `NAME` in `path`:" adds the block as the last member of that tuple or mapping.
- "Insert before `text` in `path`:" adds the block above the first line with that text.
- "Import it in `path`:" adds the block below the module's imports.
- "Run:" runs the block in the copy.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from app.core.folders import ROOT

BLOCK = re.compile(r"^\d+\. ([^\n]*)\n\n?( *```\w*\n.*?^ *```)$", re.MULTILINE | re.DOTALL)
MAKE = re.compile(r"Make `([^`]+)`:")
ADD = re.compile(r"Add to `(\w+)` in `([^`]+)`:")
INSERT = re.compile(r"Insert before `(.+)` in `([^`]+)`:")
IMPORT = re.compile(r"Import it in `([^`]+)`:")


class RecipeStep(NamedTuple):
    """One step: what to do, and the code."""

    words: str
    code: str


def read_recipe(title: str) -> list[RecipeStep]:
    """The steps below a heading. Each numbered line must be a step that can be followed."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition(f"\n### {title}\n")[2]
    section = re.split(r"^##+ ", section, maxsplit=1, flags=re.MULTILINE)[0]
    steps = [
        RecipeStep(words, dedent(block).split("\n", 1)[1][:-3]) for words, block in BLOCK.findall(section)
    ]
    assert steps, f"there is no recipe “{title}”"
    assert len(steps) == len(re.findall(r"^\d+\. ", section, re.MULTILINE)), "a step has no code"
    return steps


class Copy:
    """A copy of the tree, with settings of its own, in which recipes are followed."""

    def __init__(self, tree: Path, settings: Mapping[str, str]) -> None:
        self.tree = tree
        shutil.copytree(ROOT / "app", tree / "app", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "wsgi.py", tree)
        own = {f"WAYPOST_{name}": value for name, value in settings.items()}
        # the copy's `app` comes before ours, since it is in the working directory
        self.environ = {**os.environ, **own, "PYTHONPATH": str(ROOT)}

    def follow(self, title: str) -> None:
        for step in read_recipe(title):
            self.do(step)

    def do(self, step: RecipeStep) -> None:
        if found := MAKE.fullmatch(step.words):
            self.make(found[1], step.code)
        elif found := ADD.fullmatch(step.words):
            self.add(found[1], found[2], step.code)
        elif found := INSERT.fullmatch(step.words):
            self.insert(found[1], found[2], step.code)
        elif found := IMPORT.fullmatch(step.words):
            self.add_import(found[1], step.code)
        else:
            assert step.words == "Run:", f"nobody can follow “{step.words}”"
            self.run_shell(step.code)

    def make(self, path: str, code: str) -> None:
        file = self.tree / path
        assert not file.exists(), f"{path} is there already"
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(code)

    def add(self, name: str, path: str, code: str) -> None:
        """Add members to the literal that is assigned to `name`."""
        file = self.tree / path
        source = file.read_bytes()
        begin, end = span_of_literal(source, name)
        members = source[begin : end - 1].rstrip()
        comma = b"" if members.endswith((b",", b"(", b"[", b"{")) else b","
        file.write_bytes(source[:begin] + members + comma + b"\n" + code.encode() + source[end - 1 :])

    def insert(self, text: str, path: str, code: str) -> None:
        file = self.tree / path
        before, found, after = file.read_text().partition(text)
        assert found, f"{path} has no “{text}”"
        start = before.rfind("\n") + 1
        file.write_text(before[:start] + code + before[start:] + found + after)

    def changed_files(self) -> set[str]:
        """Files of the copy that are new, or differ from ours."""
        paths = [path for path in (self.tree / "app").rglob("*") if path.is_file() and path.suffix != ".pyc"]
        names = {path.relative_to(self.tree).as_posix(): path for path in paths}
        return {
            name
            for name, path in names.items()
            if not (ROOT / name).exists() or (ROOT / name).read_bytes() != path.read_bytes()
        }

    def add_import(self, path: str, code: str) -> None:
        file = self.tree / path
        lines = file.read_text().splitlines(keepends=True)
        last = max(
            node.end_lineno or 0
            for node in ast.parse("".join(lines)).body
            if isinstance(node, ast.Import | ast.ImportFrom)
        )
        file.write_text("".join([*lines[:last], code, *lines[last:]]))

    def run_shell(self, command: str) -> None:
        command = command.replace(".venv/bin/", f"{Path(sys.executable).parent}/")
        self.run(["sh", "-eu", "-c", command])

    def run(self, command: list[str]) -> str:
        done = subprocess.run(
            command, cwd=self.tree, env=self.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def check(self, name: str, *arguments: str) -> None:
        """Run a check of `tests.recipes.checks` in the copy."""
        self.run([sys.executable, "-m", "tests.recipes.checks", name, *arguments])


def span_of_literal(source: bytes, name: str) -> tuple[int, int]:
    """Where the tuple, list or mapping that is assigned to a name begins and ends, in bytes."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        value = node.value
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if isinstance(value, ast.Tuple | ast.List | ast.Dict) and name in map(ast.unparse, targets):
            assert value.end_lineno and value.end_col_offset
            begin = starts[value.lineno - 1] + value.col_offset
            return begin, starts[value.end_lineno - 1] + value.end_col_offset
    raise AssertionError(f"{name} is no tuple, list or mapping of this module")
