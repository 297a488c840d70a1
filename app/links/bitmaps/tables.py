"""Tables of the bitmaps of links, and how their names have the values of filters."""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, LargeBinary, String, Table

from app.core.database import Base, Id
from app.input.bitmaps import ListBitmaps, MomentBound
from app.input.forms import MAX_ID
from app.input.listing import until_moment
from app.input.parsers import parse_boolean, parse_datetime, parse_integer
from app.links.bitmaps.searches import find_blocks
from app.links.bitmaps.states import find_states
from app.links.models import Link

# bitmaps of the links that a filter finds in a block, by the filter and its value (app/input/bitmaps.py). The
# worker makes them; triggers say which blocks have changed since
link_bitmap = Table(
    "link_bitmap",
    Base.metadata,
    Column("workspace_id", ForeignKey("workspace.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("block", Id, primary_key=True, autoincrement=False),
    Column("bits", LargeBinary, nullable=False),
    Index(None, "workspace_id", "block"),
    info={"transient": True},
    sqlite_with_rowid=False,  # the bitmaps of a name lie together: a filter reads them six times as fast
)
stale_bitmap = Table(
    "stale_bitmap",
    Base.metadata,
    Column("id", Id, primary_key=True),
    Column("workspace_id", ForeignKey("workspace.id", ondelete="CASCADE"), nullable=False),
    Column("block", Id, nullable=False),
    Index(None, "workspace_id", "block"),
    info={"transient": True},
    sqlite_autoincrement=True,  # the worker removes those that it has seen, and no later one
)


def id_text(text: str) -> int:
    return parse_integer(text, 0, MAX_ID)


# as the worker names them (app/links/bitmaps/contents.py), also for the filters that the dashboard alone has
BITMAPS = ListBitmaps(
    table=link_bitmap,
    stale=stale_bitmap,
    values={
        "is_enabled": lambda text: int(parse_boolean(text)),
        **dict.fromkeys(("project_id", "domain_id", "pixel_id", "handler_id"), id_text),
        **dict.fromkeys(("tag", "rule"), str),
    },
    moment=Link.datetime,
    moments={
        "datetime_start": lambda text: MomentBound(parse_datetime(text), is_start=True),
        "datetime_end": until_moment,
    },
    computed={"state": find_states},
    searched={"search": find_blocks},
    ignored=frozenset({"type", "search_by"}),
    ranged={"url": Link.url, "datetime": Link.datetime, "last_datetime": Link.last_datetime},
)
