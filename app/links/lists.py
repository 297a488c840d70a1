"""Filters and orders of the list of links."""

# see docs/decisions/2026-11-20-lists-of-links.md
from __future__ import annotations

import re

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import InstrumentedAttribute

from app.input.counted_order import CountedRows
from app.input.forms import MAX_ID
from app.input.listing import Listing, one_of, until
from app.input.params import QueryParams
from app.input.parsers import parse_boolean, parse_datetime, parse_integer
from app.links.bitmaps.tables import BITMAPS
from app.links.clicks import CLICKS, COUNTS, IN_ORDER, OF_RANGE, clicked_links, clicks_of, joined
from app.links.models import Link, LinkTag, link_block, link_pixel
from app.links.search_text import SEARCHED, folded


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
        "search": searched,
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
        "clicks": IN_ORDER,
        "url": Link.url,
    },
    beside={"clicks": joined},
    counted={"clicks": CountedRows(clicked_links, CLICKS == 0, COUNTS, OF_RANGE, clicks_of, "clicks")},
    bitmaps=BITMAPS,
    blocks=link_block,
    elsewhere=("pixel_id", "tag"),
)
