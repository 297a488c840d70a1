"""Filters and orders of the list of links."""

# see docs/decisions/2026-11-20-lists-of-links.md, docs/decisions/2026-11-29-lists-by-plain-sql.md
from __future__ import annotations

import re

from sqlalchemy import ColumnElement, and_, column, func, or_, select, table, text
from sqlalchemy.orm import InstrumentedAttribute

from app.core.extensions import db
from app.input.forms import MAX_ID
from app.input.listing import Listing, one_of, until
from app.input.params import QueryParams
from app.input.parsers import parse_boolean, parse_datetime, parse_integer
from app.links.models import Link, LinkTag, link_clicks, link_pixel
from app.links.search_text import SEARCHED, folded

# SQLite's full-text index of `search_text` and `search_notes`, by parts of three letters; triggers keep it
INDEX = table("link_search", column("rowid"))
MATCHES = text("link_search MATCH :words")
LEAST_INDEXED, MOST_INDEXED = 3, 64  # letters of a word; of a longer one the index is asked for the beginning
MAX_CANDIDATES = 20_000  # links that the index names: of more, their texts are read in the list's order


def searched(text: str, params: QueryParams) -> ColumnElement[bool]:
    """Search the column that `search_by` names, or all three: literally, ignoring case.

    `search_text` has one line for each column, so the number of line ends before and after a match selects
    the column.
    """
    by = params.get("search_by")
    before = SEARCHED.index(by) if by in SEARCHED else 0
    after = len(SEARCHED) - 1 - before if by in SEARCHED else 0
    return Link.search_text.like("%\n" * before + f"%{literal(text)}%" + "\n%" * after, escape="/")


def noted(text: str) -> ColumnElement[bool]:
    """Links with this text in their notes or in a tag: literally, ignoring case."""
    return Link.search_notes.like(f"%{literal(text)}%", escape="/")


def literal(text: str) -> str:
    """The text as the searched columns have it, escaped for LIKE with `/`."""
    return re.sub(r"[%_/]", r"/\g<0>", folded(text))


def by_index(words: str, *found: ColumnElement[bool]) -> ColumnElement[bool]:
    """Links that meet one of these conditions on their texts. On SQLite the texts of only those are read that
    the index names, where these are few. (PostgreSQL's index serves the conditions themselves.)"""
    either, wanted = or_(*found), folded(words)[:MOST_INDEXED]
    is_sqlite = db.session.connection().dialect.name == "sqlite"
    if not is_sqlite or len(wanted) < LEAST_INDEXED or "\0" in wanted:
        return either
    quoted = MATCHES.bindparams(words='"{}"'.format(wanted.replace('"', '""')))
    named = select(INDEX.c.rowid).where(quoted)
    some = select(func.count()).select_from(named.limit(MAX_CANDIDATES + 1).subquery())
    is_many = (db.session.scalar(some) or 0) > MAX_CANDIDATES
    return either if is_many else and_(Link.id.in_(named), either)


def is_known_column(text: str, params: QueryParams) -> None:  # noqa: ARG001  `search` itself uses it
    one_of(SEARCHED)(text)


def by_id(wanted: InstrumentedAttribute[int | None], text: str) -> ColumnElement[bool]:
    """Links with this project or domain; 0 selects links without one."""
    number = parse_integer(text, 0, MAX_ID)
    return wanted == number if number else wanted.is_(None)


def of_type(text: str, params: QueryParams) -> None:  # noqa: ARG001
    one_of(["link"])(text)  # there is no other type, so this is a condition that all links meet


def uses_pixel(text: str, params: QueryParams) -> ColumnElement[bool]:  # noqa: ARG001
    pixel = link_pixel.c.pixel_id == parse_integer(text, 0, MAX_ID)
    return Link.id.in_(select(link_pixel.c.link_id).where(pixel))


def has_tag(text: str, params: QueryParams) -> ColumnElement[bool]:  # noqa: ARG001
    return Link.id.in_(select(LinkTag.link_id).where(LinkTag.tag == text))


LISTING = Listing(
    model=Link,
    filters={
        "search": lambda text, params: by_index(text, searched(text, params)),
        "search_by": is_known_column,
        "type": of_type,
        "is_enabled": lambda text, params: Link.is_enabled.is_(parse_boolean(text)),  # noqa: ARG005
        "project_id": lambda text, params: by_id(Link.project_id, text),  # noqa: ARG005
        "domain_id": lambda text, params: by_id(Link.domain_id, text),  # noqa: ARG005
        "pixel_id": uses_pixel,
        "tag": has_tag,
        "datetime_start": lambda text, params: Link.datetime >= parse_datetime(text),  # noqa: ARG005
        "datetime_end": lambda text, params: until(Link.datetime, text),  # noqa: ARG005
    },
    orders={
        "link_id": Link.id,
        "datetime": Link.datetime,
        "last_datetime": Link.last_datetime,
        "clicks": link_clicks.c.clicks,
        "url": Link.url,
    },
    copies={"clicks": link_clicks},
)
