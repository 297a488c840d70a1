"""Commands that read and write files of links: import and export."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_type_hints

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from waypost_client.cli.command import Session, shared_options, way
from waypost_client.cli.options import given, options_of
from waypost_client.cli.output import as_cell, print_json
from waypost_client.errors import Conflict, Invalid, Malformed, TooLarge
from waypost_client.fields import Ids, LinkFields, LinkFilters, Picture, TargetingFields, Texts, targeting
from waypost_client.objects import Link, encode

FORMATS = ("csv", "json", "ndjson")
# pictures are addresses in a file; a password is a mask; pairs have a column of their own
NOT_IN_FILES = {name for name, hint in get_type_hints(LinkFields).items() if hint == Picture} | {"password"}
FIELDS = {
    name: hint
    for name, hint in get_type_hints(LinkFields).items()
    if name not in NOT_IN_FILES and name not in TargetingFields.__annotations__
} | {"targeting_type": str}
COLUMNS = ("id", "short_url", "datetime", "clicks", *FIELDS, "targeting")
FORMULA = "=+-@"
ROW_ERRORS = (Invalid, Conflict, Malformed, TooLarge)  # of one row; any other ends the import


@way.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--format", "format_", type=click.Choice(FORMATS), help="Without it, the file's name says it.")
@click.option("--again", is_flag=True, help="Create anew what the same file has created today.")
@shared_options
def import_(session: Session, file: io.BufferedReader, format_: str | None, again: bool) -> None:
    """Creates a link for each row of FILE (- is standard input): CSV with a heading, JSON, or JSON lines.

    Columns are named like the API's fields; location_url is the destination, url the alias. Ends with 1 where
    a row failed. An import that was interrupted can be repeated: what it has created is not created twice.
    """
    content = file.read()
    rows = read_rows(content, format_ or format_of(getattr(file, "name", "")))
    digest = "" if again else hashlib.sha256(content).hexdigest()[:32]
    created: list[Link] = []
    failed: list[dict[str, Any]] = []
    with progress(len(rows), "Importing") as advance:
        for number, row in enumerate(rows, 1):
            try:
                created.append(create_row(session, row, f"way-import-{digest}-{number}" if digest else None))
            except ROW_ERRORS as error:
                failed.append({"row": number, "errors": [vars(one) for one in error.errors]})
                report(number, str(error), as_json=session.as_json)
            except ValueError as error:
                failed.append({"row": number, "errors": [{"title": str(error), "code": "unreadable"}]})
                report(number, str(error), as_json=session.as_json)
            advance()
    if session.as_json:
        print_json({"created": created, "failed": failed})
    else:
        click.echo(f"{len(created)} created, {len(failed)} failed.")
    if failed:
        raise click.exceptions.Exit(1)


def report(number: int, reason: str, *, as_json: bool) -> None:
    if not as_json:
        click.echo(f"Row {number}: {as_cell(reason.replace(chr(10), '; '))}", err=True)


def create_row(session: Session, row: Any, key: str | None) -> Link:
    fields: Any = fields_of_row(row)
    destination, alias = fields.pop("location_url", ""), fields.pop("url", None)
    return session.client.links.create(destination, alias, idempotency_key=key, **fields)


def fields_of_row(row: Any) -> dict[str, Any]:
    """What a row of CSV or an object of the API says of a link. Raises ValueError where it is neither."""
    if not isinstance(row, dict):
        raise ValueError("It is not an object.")  # noqa: TRY004  a value of the file, not of the program
    found = {name: value for name in FIELDS if (value := value_of(name, row.get(name))) is not None}
    settings = row["settings"] if isinstance(row.get("settings"), dict) else {}
    if "sensitive_content" in settings:
        found["sensitive_content"] = settings["sensitive_content"]
    kind = found.get("targeting_type")
    pairs = row.get("targeting") or (
        settings.get(f"targeting_{kind}") if isinstance(settings, dict) else None
    )
    if kind and pairs:
        read = json.loads(pairs) if isinstance(pairs, str) else pairs
        try:
            return found | targeting(kind, [(pair["key"], pair["value"]) for pair in read])
        except (TypeError, KeyError) as error:
            raise ValueError('targeting is a list of {"key": …, "value": …}.') from error
    return found


def value_of(name: str, value: Any) -> Any:
    """A value of a file as the API wants it; None where there is nothing to send."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and FIELDS[name] in (Texts, Ids):
        return json.loads(value) if value.startswith("[") else [one.strip() for one in value.split(",")]
    return value


def format_of(name: Any) -> str:
    found = Path(str(name)).suffix.lstrip(".").lower()
    if found == "jsonl":
        return "ndjson"
    if found not in FORMATS:
        raise click.UsageError("--format is needed: the file's name does not say it.")
    return found


def read_rows(content: bytes, kind: str) -> list[Any]:
    """The rows of a file. Raises a ClickException where it can't be read."""
    try:
        text = content.decode("utf-8-sig")
        if kind == "csv":
            return list(read_csv(text))
        if kind == "ndjson":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        found = json.loads(text)
    except (ValueError, csv.Error, RecursionError) as error:
        raise click.ClickException(f"The file is not {kind.upper()} in UTF-8: {error}") from error
    if not isinstance(found, list):
        raise click.ClickException("The file's JSON is not a list of links.")
    return found


def read_csv(text: str) -> Iterator[dict[str, str]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    if "location_url" not in (reader.fieldnames or ()):
        raise click.ClickException("The file has no column location_url.")
    for row in reader:
        if None in row:
            raise click.ClickException(f"Line {reader.line_num} has more cells than the heading.")
        yield {name: (cell or "").removeprefix("'") for name, cell in row.items()}


@way.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--format", "format_", type=click.Choice(FORMATS), help="Without it, the file's name says it.")
@options_of(LinkFilters, "page", "results_per_page")
@shared_options
def export(session: Session, file: Path | None, format_: str | None, **filters: Any) -> None:
    """Writes links to FILE, or to standard output, in a form that way import reads."""
    chosen = given(filters)
    kind = format_ or (format_of(file) if file else "json" if session.as_json else "csv")
    total = session.client.links.page(**chosen, results_per_page=10).meta.total
    links = session.client.links.find(**chosen)
    with progress(total, "Exporting", is_shown=file is not None) as advance:
        text = (one for one in pieces(links, kind, advance))
        if file is None:
            for piece in text:
                click.echo(piece, nl=False)
            return
        with file.open("w", encoding="utf-8", newline="") as out:
            out.writelines(text)


def pieces(links: Iterable[Link], kind: str, advance: Any) -> Iterator[str]:
    """The text of an export, a link at a time."""
    if kind == "csv":
        yield csv_line(COLUMNS)
    start = "[\n" if kind == "json" else ""
    for link in links:
        if kind == "csv":
            yield csv_line(cells_of(link))
        else:
            yield start + json.dumps(encode(link), ensure_ascii=False) + ("\n" if kind == "ndjson" else "")
            start = ",\n" if kind == "json" else ""
        advance()
    if kind == "json":
        yield "[]\n" if start == "[\n" else "\n]\n"


def cells_of(link: Link) -> list[str]:
    told = encode(link) | {
        "sensitive_content": link.settings.sensitive_content,
        "targeting": encode(link.targeting),
    }
    return [cell_of(told.get(name)) for name in COLUMNS]


def cell_of(value: Any) -> str:
    if value is None or value == []:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return escaped(json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value))


def escaped(text: str) -> str:
    """A text that no spreadsheet takes for a formula: an apostrophe comes first, as in Waypost's exports."""
    seen = next((char for char in text if unicodedata.category(char)[0] not in "ZCM"), "")
    is_formula = unicodedata.normalize("NFKC", seen)[:1] in {*FORMULA, "\u2212"}
    return f"'{text}" if text.startswith("'") or is_formula or text[:1] in {"\t", "\r", "\n"} else text


def csv_line(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(cells)
    return out.getvalue()


@contextmanager
def progress(total: int, what: str, *, is_shown: bool = True) -> Iterator[Any]:
    """A bar on standard error, where that is a terminal. Yields what moves it on by one."""
    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    is_drawn = is_shown and console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not is_drawn) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
