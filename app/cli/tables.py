"""How does a command print rows, to be read and to be cut into columns?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as their widest cell, two spaces between them; an empty cell is `-`."""
    lines = [head, *([cell or "-" for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        click.echo("  ".join(map(str.ljust, line, widths)).rstrip())
