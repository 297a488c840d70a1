"""What the command prints: tables for people, JSON for programs."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from waypost_client.objects import ABOUT, ApiObject, encode

# what a terminal would take for a command, and what changes the direction of text
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def print_json(value: Any) -> None:
    text = json.dumps(encode(value), ensure_ascii=False, indent=2)
    click.echo(re.sub(r"[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text))


def print_rows(rows: Iterable[ApiObject], columns: Sequence[str], *, as_json: bool) -> None:
    """Objects as a table of these fields, or all of them as JSON."""
    found = list(rows)
    if as_json:
        print_json(found)
        return
    cells = [[getattr(row, column) for column in columns] for row in found]
    print_table(columns, cells)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        is_number = bool(rows) and all(isinstance(row[number], int | None) for row in rows)
        table.add_column(
            column.replace("_", " "),
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=column in {"id", "short_url"},
        )
    for row in rows:
        table.add_row(*(Text(as_cell(value)) for value in row))
    Console(highlight=False).print(table)


def print_object(found: ApiObject, *, as_json: bool) -> None:
    """One object: its fields that hold something, one a line."""
    if as_json:
        print_json(found)
        return
    table = Table.grid(padding=(0, 2))
    for one in fields(found):
        value = getattr(found, one.name)
        if one.name not in ABOUT and value not in (None, "", [], {}):
            table.add_row(Text(one.name.replace("_", " "), style="bold"), Text(as_cell(value)))
    Console(highlight=False).print(table)


def as_cell(value: Any) -> str:
    """A value as text. Other people's texts are in it, so it holds nothing that a terminal obeys."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%d %H:%M UTC")
    if isinstance(value, ApiObject | dict) or (isinstance(value, list) and value and not plain(value)):
        return CONTROLS.sub("?", json.dumps(encode(value), ensure_ascii=False))
    if isinstance(value, list):
        return CONTROLS.sub("?", ", ".join(map(str, value)))
    return CONTROLS.sub("?", str(value))


def plain(values: list[Any]) -> bool:
    return all(isinstance(value, str | int) for value in values)
