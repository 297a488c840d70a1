"""Parts of the pages in `docs/`: tables after a mark, and fenced blocks."""

from __future__ import annotations

import re
from typing import NamedTuple

from app.core.folders import ROOT

DOCS = ROOT / "docs"


def text_of(page: str) -> str:
    return (DOCS / page).read_text()


def rows_after(page: str, mark: str) -> list[list[str]]:
    """The cells of the table after `<!-- mark -->`, without its head."""
    lines = text_of(page).partition(f"<!-- {mark} -->\n")[2].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def names_after(page: str, mark: str) -> list[str]:
    """The names between backticks in the first column of that table."""
    return [name for row in rows_after(page, mark) for name in re.findall(r"`([^`]+)`", row[0])]


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line on which it begins."""

    language: str
    text: str
    line: int


def blocks_of(text: str) -> list[Block]:
    found = []
    for match in re.finditer(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", text, re.MULTILINE | re.DOTALL):
        indent, language, body = match.groups()
        lines = [line.removeprefix(indent) for line in body.splitlines()]
        found.append(Block(language, "\n".join(lines) + "\n", text.count("\n", 0, match.start()) + 1))
    return found


def block_after(page: str, mark: str) -> Block:
    """The first fenced block after `<!-- mark -->`."""
    return blocks_of(text_of(page).partition(f"<!-- {mark} -->\n")[2])[0]
