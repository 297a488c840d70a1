"""Prints rows as a table that people can read and programs can split into columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints columns as wide as their widest cell, two spaces between them. An empty cell is `-`."""
    lines = [head, *([cell or "-" for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        click.echo("  ".join(map(str.ljust, line, widths)).rstrip())
