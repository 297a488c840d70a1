"""Insertion of new links past the ORM's unit of work, which takes twice as long for rows of forty columns."""

# see docs/decisions/2026-11-26-creates-by-the-api.md
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import Table, insert, inspect
from sqlalchemy.orm import make_transient_to_detached

from app.core.extensions import db
from app.links.models import Link
from app.links.search_text import SEARCHED, folded, folded_notes

TABLE = cast("Table", Link.__table__)
COMPUTED = ("search_text", "search_notes")
COLUMNS = [column for column in TABLE.c if column.key not in {"id", *COMPUTED}]
INSERT = insert(TABLE).returning(TABLE.c.id, sort_by_parameter_order=True)
DEFAULTS: dict[str, Any] = {column.key: column.default for column in COLUMNS if column.default is not None}
# the value of each column that is not given, and functions that make one anew for each link
SCALARS = {
    **dict.fromkeys(column.key for column in COLUMNS),
    **{name: default.arg for name, default in DEFAULTS.items() if default.is_scalar},
}
MADE = {name: default.arg for name, default in DEFAULTS.items() if default.is_callable}


def insert_links(links: Sequence[Link]) -> None:
    """Insert new links, to which nothing is attached yet. The session then has them as stored rows."""
    if not links:
        return
    rows = [row_of(link) for link in links]
    ids = db.session.connection().scalars(INSERT, rows)
    for link, row, id_ in zip(links, rows, ids, strict=True):
        link.__dict__.update(row, id=id_)
        make_transient_to_detached(link)
        forget_rolled_back(link)
    db.session.add_all(links)


def forget_rolled_back(link: Link) -> None:
    """Drop an earlier link with this id that was rolled back: the session takes such a one for stored."""
    earlier = db.session.identity_map.get(inspect(link).key)
    if earlier is not None:
        db.session.expunge(earlier)


def row_of(link: Link) -> dict[str, Any]:
    """All columns but the id. One that is None has its default, as with the ORM."""
    given = vars(link)
    row = {name: other if given.get(name) is None else given[name] for name, other in SCALARS.items()}
    for name, make in MADE.items():
        if row[name] is None:
            row[name] = make(None)
    row["search_text"] = folded(*(row[name] for name in SEARCHED))
    row["search_notes"] = folded_notes(row["notes"], ())
    return row
