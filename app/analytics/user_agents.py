"""Descriptions of user agents, stored so that each text is parsed only once."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Table
from sqlalchemy.engine import Connection

from app.analytics import bulk
from app.analytics.interning import Interner
from app.analytics.rollup_models import Agent
from app.redirects.user_agent import parse_device

AGENTS = cast("Table", Agent.__table__)


def store_descriptions(connection: Connection, terms: Interner, texts: set[str]) -> None:
    """Stores device, system and browser of each. The caller commits, and then calls `terms.keep()`."""
    new = {text: parse_device(text) for text in texts - terms.described if text}
    ids = terms.ids(connection, {*new, *(word for found in new.values() for word in found)})
    rows = [(ids[text], *map(ids.get, new[text])) for text in sorted(new)]
    bulk.insert_rows(connection, AGENTS, rows, "DO NOTHING")
    terms.describing(new)
