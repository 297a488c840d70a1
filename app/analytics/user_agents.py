"""What is kept of an agent's text, so that it is looked at only once?"""

from __future__ import annotations

from typing import cast

from sqlalchemy import Table
from sqlalchemy.engine import Connection

from app.clicks import bulk
from app.clicks.rollup_models import Agent
from app.clicks.terms import Terms
from app.visits.devices import device

AGENTS = cast("Table", Agent.__table__)


def describe(connection: Connection, terms: Terms, texts: set[str]) -> None:
    """Note device, system and browser of each. `terms.keep()` follows once this is committed."""
    new = {text: device(text) for text in texts - terms.described if text}
    ids = terms.ids(connection, {*new, *(word for found in new.values() for word in found)})
    rows = [(ids[text], *map(ids.get, new[text])) for text in sorted(new)]
    bulk.put(connection, AGENTS, rows, "DO NOTHING")
    terms.describing(new)
