"""Commands of links: create, list, show, update, delete, explain, stats, qr, open."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click
import segno

from waypost_client.cli.command import Session, shared_options, way
from waypost_client.cli.options import KeyAndUrl, given, options_of
from waypost_client.cli.output import print_json, print_object, print_rows, print_table
from waypost_client.client import Client
from waypost_client.fields import (
    LinkFields,
    LinkFilters,
    LinkOptions,
    QrLook,
    StatisticsFilters,
    TargetingFields,
    VisitorProfile,
    targeting,
)
from waypost_client.objects import Link, encode

T = TypeVar("T")
COLUMNS = ("id", "short_url", "location_url", "title", "clicks", "is_enabled")
PAIRS = tuple(TargetingFields.__annotations__)  # written as --targeting-type and --target
target_options = (
    click.option("--targeting-type", metavar="TYPE", help="country_code, device_type, rotation, …"),
    click.option("--target", "targets", type=KeyAndUrl(), multiple=True, help="Replaces the pairs."),
)


def find_link(client: Client, name: str) -> Link:
    """The link of a number, an alias or a short URL."""
    if name.isascii() and name.isdigit():
        return client.links.read(int(name))
    is_url = "://" in name
    alias = urlsplit(name).path.strip("/") if is_url else name.strip("/")
    found = [
        link
        for link in client.links.find(search=alias, search_by="url")
        if (same(link.short_url, name.rstrip("/")) if is_url else same(link.url, alias))
    ]
    if len(found) > 1:
        urls = ", ".join(link.short_url for link in found)
        raise click.ClickException(f"Several domains have {name!r}: {urls}. Name one of these.")
    if not found:
        raise click.ClickException(f"There is no link {name!r}.")
    return found[0]


def same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def fields_of(options: dict[str, Any]) -> Any:
    """The fields that were given, with the targeting's pairs as the API wants them."""
    targets = options.pop("targets")
    found = given(options)
    if targets:
        kind = found.get("targeting_type")
        if not kind:
            raise click.UsageError("--target needs --targeting-type.")
        found |= targeting(kind, targets)
    return found


@way.command()
@click.argument("destination")
@click.argument("alias", required=False)
@options_of(LinkOptions, *PAIRS)
@target_options[0]
@target_options[1]
@shared_options
def create(session: Session, destination: str, alias: str | None, **options: Any) -> None:
    """Creates a short link to DESTINATION; without ALIAS, with a random one. Prints its short URL."""
    link = session.client.links.create(destination, alias, **fields_of(options))
    print_json(link) if session.as_json else click.echo(link.short_url)


@way.command("list")
@options_of(LinkFilters, "page", "results_per_page")
@click.option("--limit", type=click.IntRange(0), default=100, show_default=True, help="0 is all.")
@shared_options
def list_(session: Session, limit: int, **filters: Any) -> None:
    """Lists links."""
    rows = session.client.links.find(**given(filters))
    print_rows(first(rows, limit), COLUMNS, as_json=session.as_json)


def first(rows: Iterable[T], limit: int) -> Iterator[T]:
    """At most `limit` of the rows; 0 is all. What the limit leaves out is told."""
    rows = iter(rows)
    yield from islice(rows, limit or None)
    if limit and next(rows, None) is not None:
        click.echo(f"There are more than {limit}: --limit shows them.", err=True)


@way.command()
@click.argument("link")
@shared_options
def show(session: Session, link: str) -> None:
    """Shows all of a link."""
    print_object(find_link(session.client, link), as_json=session.as_json)


@way.command()
@click.argument("link")
@options_of(LinkFields, *PAIRS)
@target_options[0]
@target_options[1]
@shared_options
def update(session: Session, link: str, **options: Any) -> None:
    """Changes what is given of a link; an empty text ('') clears a field."""
    fields = fields_of(options)
    if not fields:
        raise click.UsageError("Nothing to change was given.")
    changed = session.client.links.update(find_link(session.client, link).id, **fields)
    print_object(changed, as_json=session.as_json)


@way.command()
@click.argument("links", nargs=-1, required=True, metavar="LINK...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
def delete(session: Session, links: tuple[str, ...], yes: bool) -> None:
    """Moves links to the trash, from where `way trash restore` brings them back for 30 days."""
    found = [find_link(session.client, link) for link in links]
    if not yes:
        click.confirm(f"Delete {', '.join(link.short_url for link in found)}?", abort=True, err=True)
    for link in found:
        session.client.links.delete(link.id)
    if session.as_json:
        print_json([link.id for link in found])


@way.command()
@click.argument("link")
@options_of(VisitorProfile)
@shared_options
def explain(session: Session, link: str, **visitor: Any) -> None:
    """Says what such a visitor of a link gets, and why."""
    found = session.client.links.explain(find_link(session.client, link).id, **given(visitor))
    if session.as_json:
        print_json(found)
        return
    click.echo(f"{found.outcome} {found.status} {found.location or ''}".rstrip())
    print_table(("step", "matched", "detail"), [(one.step, one.matched, one.detail) for one in found.steps])


@way.command()
@click.argument("link", required=False)
@click.option("--by", "type_", default="overview", show_default=True, help="country_code, referrer_host, …")
@options_of(StatisticsFilters)
@shared_options
def stats(session: Session, link: str | None, type_: str, **filters: Any) -> None:
    """Shows clicks and visitors of a link, or of all: by day, or by what --by says."""
    client, chosen = session.client, given(filters)
    if link is None:
        rows = client.statistics.of_all(type_, **chosen)
    else:
        rows = client.statistics.of_link(find_link(client, link).id, type_, **chosen)
    if session.as_json:
        print_json([encode(row) for row in rows])
        return
    name = "day" if type_ == "overview" else type_
    print_table((name, "clicks", "visitors"), [(row.value, row.pageviews, row.visitors) for row in rows])


@way.command()
@click.argument("link")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@options_of(QrLook)
@shared_options
def qr(session: Session, link: str, file: Path | None, **look: Any) -> None:
    """Draws a link's QR code in the terminal, or writes it to FILE (.svg or .png)."""
    found = find_link(session.client, link)
    if file is None:
        print_json({"short_url": found.short_url}) if session.as_json else click.echo(drawn(found.short_url))
        return
    if file.suffix not in {".svg", ".png"}:
        raise click.UsageError("FILE ends with .svg or .png.")
    picture = session.client.links.qr(found.id, file.suffix[1:], **given(look))
    file.write_bytes(picture.content)
    if session.as_json:
        print_json({"short_url": found.short_url, "file": str(file)})


def drawn(text: str) -> str:
    """A QR code of characters, two modules high each."""
    out = io.StringIO()
    segno.make(text, micro=False, error="m").terminal(out, compact=True, border=2)
    return out.getvalue().rstrip("\n")


@way.command("open")
@click.argument("link")
@click.option("--destination", is_flag=True, help="The destination instead: that counts no click.")
@shared_options
def open_(session: Session, link: str, destination: bool) -> None:
    """Opens a link in the browser."""
    found = find_link(session.client, link)
    url = found.location_url if destination else found.short_url
    if urlsplit(url).scheme not in {"http", "https"}:
        raise click.ClickException(f"{url} is not opened: only http and https are.")
    if session.as_json:
        print_json({"url": url})
    if click.launch(url) != 0:
        print(url, file=sys.stderr)
        raise click.ClickException("No browser could be started.")
