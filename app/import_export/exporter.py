"""Export of links as CSV or JSON, which an import reads back without loss.

It is written a page at a time, by id: neither memory nor a transaction grows with the number of links. The
columns are those of the import.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import RowMapping, Table, select

from app.core.clock import format_utc
from app.core.csv_files import csv_pieces
from app.core.extensions import db
from app.domains.models import Domain
from app.import_export.cells import DATA_FIELDS, FOLDER, with_pictures
from app.import_export.columns import EXPORTED
from app.input.listing import Listing, find_conditions
from app.input.params import QueryParams
from app.links.clicks import clicks_of
from app.links.lists import LISTING
from app.links.models import Link, LinkTag, link_notification_handler, link_pixel
from app.notifications.models import NotificationHandler
from app.notifications.transport import all_transports
from app.pixels.models import Pixel
from app.projects.models import Project

BATCH_SIZE = 1000
TABLE: Table = Link.__table__  # past the ORM: that takes a tenth of the time for a row
# a CSV file is opened in spreadsheets and passed on, so it has no secrets, and no pictures
JSON_ONLY = {"password_hash", "password_version", "project_color", "handler_settings", *DATA_FIELDS.values()}
CSV_NAMES = tuple(name for name in EXPORTED if name not in JSON_ONLY)
KINDS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
Values = dict[str, Any]
ShortUrl = Callable[[str, str | None], str]


def export(
    workspace_id: int, params: QueryParams, kind: str, short_url: ShortUrl, listing: Listing[Link] = LISTING
) -> Iterator[str]:
    """The text of the file, in pieces. `params`: filters of the list. Raises Invalid before the first piece.

    `short_url`: returns the URL of an alias, on a domain's base URL or (None) the instance's own.
    """
    found = pages(workspace_id, find_conditions(listing, params), short_url)
    if kind == "csv":
        return as_csv(found)
    return as_json([with_pictures(row)] for rows in found for row in rows)  # of one row at a time in memory


def pages(workspace_id: int, conditions: Sequence[Any], short_url: ShortUrl) -> Iterator[list[Values]]:
    query = (
        select(TABLE)
        .where(TABLE.c.workspace_id == workspace_id, *conditions)
        .order_by(TABLE.c.id)
        .limit(BATCH_SIZE)
    )
    last = 0
    while rows := db.session.connection().execute(query.where(TABLE.c.id > last)).mappings().all():
        last = rows[-1]["id"]
        found = described(workspace_id, rows, short_url)
        db.session.rollback()  # no read transaction stays open during a slow download
        yield found


def described(workspace_id: int, rows: Sequence[RowMapping], short_url: ShortUrl) -> list[Values]:
    """A page of links, each with the import's columns."""
    ids = [row["id"] for row in rows]
    clicks, projects, domains = clicks_of(ids), projects_of(workspace_id), sites_of(workspace_id)
    tags = of_links(select(LinkTag.link_id, LinkTag.tag).order_by(LinkTag.position), LinkTag.link_id, ids)
    pixels, handlers = pixels_of(ids), handlers_of(ids)
    found = []
    for row in rows:
        scheme, host = domains.get(row["domain_id"], ("", ""))
        project, color = projects.get(row["project_id"], ("", None))
        beside = {
            "domain": host,
            "project": project,
            "project_color": color,
            "tags": [tag for (tag,) in tags[row["id"]]],
            "clicks": clicks[row["id"]],
            "pixels": [list(each) for each in pixels[row["id"]]],
            "handlers": [[one["type"], one["name"]] for one in handlers[row["id"]]],
            "handler_settings": handlers[row["id"]],
            "short_url": short_url(row["url"], f"{scheme}{host}" if host else None),
            **{name: row[name] and f"{FOLDER}/{row[name]}" for name in DATA_FIELDS},
            **dict.fromkeys(DATA_FIELDS.values()),
            "has_password": bool(row["password_hash"]),
        }
        values = {name: beside[name] if name in beside else row[name] for name in EXPORTED}
        found.append({name: out(value) for name, value in values.items()})
    return found


def projects_of(workspace_id: int) -> dict[int | None, tuple[str, str]]:
    """Names and colours of an owner's projects, by id."""
    mine = select(Project.id, Project.name, Project.color).where(Project.workspace_id == workspace_id)
    return {id_: (name, color) for id_, name, color in db.session.execute(mine)}


def sites_of(workspace_id: int) -> dict[int | None, tuple[str, str]]:
    mine = select(Domain.id, Domain.scheme, Domain.host).where(Domain.workspace_id == workspace_id)
    return {id_: (scheme, host) for id_, scheme, host in db.session.execute(mine)}


def pixels_of(ids: Sequence[int]) -> Mapping[int, list[tuple[Any, ...]]]:
    query = select(link_pixel.c.link_id, Pixel.type, Pixel.pixel, Pixel.name)
    query = query.join(Pixel, Pixel.id == link_pixel.c.pixel_id).order_by(Pixel.id)
    return of_links(query, link_pixel.c.link_id, ids)


def handlers_of(ids: Sequence[int]) -> Mapping[int, list[Values]]:
    """The handlers of links, each decrypted once for all of them."""
    table, key = link_notification_handler, link_notification_handler.c.notification_handler_id
    named = of_links(select(table.c.link_id, key).order_by(key), table.c.link_id, ids)
    used = {id_ for found in named.values() for (id_,) in found}
    query = select(NotificationHandler).where(NotificationHandler.id.in_(used))
    values = {one.id: handler_values(one) for one in db.session.scalars(query)}
    found = {link_id: [values[id_] for (id_,) in some if id_ in values] for link_id, some in named.items()}
    return defaultdict(list, found)


def handler_values(handler: NotificationHandler) -> Values:
    """What another instance makes the same handler of."""
    settings = all_transports()[handler.type].visible_settings(handler.settings)
    return {
        "type": handler.type,
        "name": handler.name,
        "is_enabled": handler.is_enabled,
        "settings": settings,
    }


def of_links(query: Any, column: Any, ids: Sequence[int]) -> Mapping[int, list[tuple[Any, ...]]]:
    found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for link_id, *values in db.session.connection().execute(query.where(column.in_(ids))):
        found[link_id].append(tuple(values))
    return found


def out(value: Any) -> Any:
    return format_utc(value) if isinstance(value, dt.datetime) else value


def as_csv(found: Iterable[list[Values]]) -> Iterator[str]:
    rows = ([row[name] for name in CSV_NAMES] for rows in found for row in rows)
    return csv_pieces(chain([CSV_NAMES], rows))


def as_json(found: Iterable[list[Values]]) -> Iterator[str]:
    """A JSON array with a link on each line, so that it can also be read line by line."""
    separator = "[\n"
    for rows in found:
        for row in rows:
            yield separator + json.dumps(row, ensure_ascii=False)
            separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"
