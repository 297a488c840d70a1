"""What the readers of all formats share: what they yield, and a text that is read in pieces.

However large a file is, only the part that is being read is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l

MAX_LINE = 2_000_000  # characters; all fields of a link take less than half of it
BLOCK = 1 << 16
MAX_BROKEN = 1_000  # unreadable values: each may cost another reading of the same MAX_LINE characters
MAX_STEPS = 200_000  # tags or keys that are skipped between two links
NOTHING = _l("Much of this file can't be used, so reading stops here.")
TOO_LONG = _l("This has more than %(most)s characters.", most=lazy_digits(MAX_LINE))


class UnreadableTable(Exception):
    """The file can't be read as a table. The text says why, for its owner."""


class Element(NamedTuple):
    """One link of a file that is not CSV, and the line it begins in. `problem` says why `value` is None."""

    line: int
    value: Mapping[str, Any] | None
    problem: str = ""


def open_text(path: Path, encoding: str) -> TextIO:
    return path.open(encoding=encoding, errors="replace", newline="")


@dataclass(frozen=True)
class FormatReader:
    """A format that is no table of separated values.

    `recognises` decides by the beginning of the text, `elements` yields the links of a file that is open at
    its beginning, `nothing` is told where there are none.
    """

    recognises: Callable[[str], bool]
    elements: Callable[[TextIO], Iterator[Element]]
    nothing: str
    open: Callable[[Path, str], TextIO] = open_text


class Broken(Exception):
    """The end of a value can't be found; the text says why."""


class Exhausted(Broken):
    """So much was skipped that the rest is not read."""


class TextBuffer:
    """The part of a file that is in memory.

    `at` is the position in `text`, `line` its line in the file, `steps` how much was skipped since the last
    link.
    """

    def __init__(self, file: TextIO) -> None:
        self.file, self.text, self.at, self.line, self.steps = file, "", 0, 1, 0

    def step(self) -> None:
        """Count a skipped item. Raises Exhausted after too many."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Exhausted(NOTHING)

    def read_more(self) -> bool:
        """Read on. False at the end.

        It reads at least as much as is in memory, so that repeated attempts at a long value stay linear.
        """
        block = self.file.read(max(BLOCK, len(self.text) - self.at))
        self.text, self.at = self.text[self.at :] + block, 0
        return bool(block)

    def skip(self, count: int) -> None:
        self.line += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def skip_line(self) -> None:
        while (end := self.text.find("\n", self.at)) < 0:
            self.at = len(self.text)
            if not self.read_more():
                return
        self.skip(end + 1 - self.at)

    def require_short(self, length: int, problem: str = TOO_LONG, limit: int = MAX_LINE) -> None:
        if length > limit:
            raise Broken(problem)


def storable(text: str) -> str:
    """The text without NUL and lone surrogates, which no database or response can contain."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
