"""How do links leave as a file that everybody can read, and that comes back in without loss?

Written a page at a time, found by id: neither memory nor a transaction grows with the number of links. The
columns are those that an import knows, so what is written is what is read.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import RowMapping, Table, select

from app.clock import written
from app.csv_files import csv_pieces
from app.domains.models import Domain
from app.extensions import db
from app.links.clicks import clicks_of
from app.links.lists import LISTING
from app.links.models import Link, LinkTag, link_notification_handler, link_pixel
from app.lists import Asked, Listing, Question
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project
from app.transfer.columns import COLUMNS

AT_ONCE = 1000
TABLE: Table = Link.__table__  # past the ORM: a row of it takes a tenth of the time
# for a person, or another service: an import does not read them
MORE = ("last_datetime",)
# a CSV file is opened in spreadsheets and passed on: it only says that there is a password
CSV_NAMES = tuple(name for name in (*COLUMNS, *MORE) if name not in {"password_hash", "password_version"})
KINDS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
Values = dict[str, Any]
ShortUrl = Callable[[str, str | None], str]


def export(
    user_id: int, asked: Asked, kind: str, short_url: ShortUrl, listing: Listing[Link] = LISTING
) -> Iterator[str]:
    """The text of the file, in pieces. `asked`: filters of the list. Raises Invalid before the first piece.

    `short_url`: the absolute address of an alias, on a domain's site or (None) the instance's own.
    """
    question = Question(listing, asked)
    conditions = question.conditions()
    question.require_valid()
    found = pages(user_id, conditions, short_url)
    return as_csv(found) if kind == "csv" else as_json(found)


def pages(user_id: int, conditions: Sequence[Any], short_url: ShortUrl) -> Iterator[list[Values]]:
    query = select(TABLE).where(TABLE.c.user_id == user_id, *conditions).order_by(TABLE.c.id).limit(AT_ONCE)
    last = 0
    while rows := db.session.connection().execute(query.where(TABLE.c.id > last)).mappings().all():
        last = rows[-1]["id"]
        yield described(user_id, rows, short_url)
        db.session.rollback()  # no read goes on while somebody downloads slowly


def described(user_id: int, rows: Sequence[RowMapping], short_url: ShortUrl) -> list[Values]:
    """A page of links, each as columns of an import name it."""
    ids = [row["id"] for row in rows]
    clicks, projects, domains = clicks_of(ids), names_of(user_id), sites_of(user_id)
    tags = of_links(select(LinkTag.link_id, LinkTag.tag).order_by(LinkTag.position), LinkTag.link_id, ids)
    pixels, handlers = attached(link_pixel, Pixel, (Pixel.pixel, Pixel.name), ids), handlers_of(ids)
    found = []
    for row in rows:
        scheme, host = domains.get(row["domain_id"], ("", ""))
        beside = {
            "domain": host,
            "project": projects.get(row["project_id"], ""),
            "tags": [tag for (tag,) in tags[row["id"]]],
            "clicks": clicks[row["id"]],
            "pixels": [list(each) for each in pixels[row["id"]]],
            "handlers": [list(each) for each in handlers[row["id"]]],
            "short_url": short_url(row["url"], f"{scheme}{host}" if host else None),
            "last_datetime": row["last_datetime"],
            "has_password": bool(row["password_hash"]),
        }
        values = {name: beside[name] if name in beside else row[name] for name in (*COLUMNS, *MORE)}
        found.append({name: out(value) for name, value in values.items()})
    return found


def names_of(user_id: int) -> dict[int | None, str]:
    mine = select(Project.id, Project.name).where(Project.user_id == user_id)
    return dict(db.session.execute(mine).all())


def sites_of(user_id: int) -> dict[int | None, tuple[str, str]]:
    mine = select(Domain.id, Domain.scheme, Domain.host).where(Domain.user_id == user_id)
    return {id_: (scheme, host) for id_, scheme, host in db.session.execute(mine)}


def attached(
    table: Table, model: Any, names: Sequence[Any], ids: Sequence[int]
) -> Mapping[int, list[tuple[Any, ...]]]:
    key = next(column for column in table.c if column.name != "link_id")
    query = select(table.c.link_id, model.type, *names).join(model, model.id == key).order_by(model.id)
    return of_links(query, table.c.link_id, ids)


def handlers_of(ids: Sequence[int]) -> Mapping[int, list[tuple[Any, ...]]]:
    return attached(link_notification_handler, NotificationHandler, (NotificationHandler.name,), ids)


def of_links(query: Any, column: Any, ids: Sequence[int]) -> Mapping[int, list[tuple[Any, ...]]]:
    found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for link_id, *values in db.session.connection().execute(query.where(column.in_(ids))):
        found[link_id].append(tuple(values))
    return found


def out(value: Any) -> Any:
    return written(value) if isinstance(value, dt.datetime) else value


def as_csv(found: Iterable[list[Values]]) -> Iterator[str]:
    rows = ([row[name] for name in CSV_NAMES] for rows in found for row in rows)
    return csv_pieces(chain([CSV_NAMES], rows))


def as_json(found: Iterable[list[Values]]) -> Iterator[str]:
    """An array with a link on each line, so that it can be read a line at a time, too."""
    separator = "[\n"
    for rows in found:
        for row in rows:
            yield separator + json.dumps(row, ensure_ascii=False)
            separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"
