"""Inserts rows of single clicks.

Every source of clicks (the journal, links with a click limit) calls `append`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from sqlalchemy import Table
from sqlalchemy.engine import Connection

from app.analytics import bulk, partitions
from app.analytics.interning import Interner
from app.analytics.models import Click
from app.analytics.rollup_models import Agent
from app.analytics.rollups import Visited, roll_up
from app.events import entries
from app.journal.codec import Visit
from app.redirects.user_agent import parse_device

CLICKS = cast("Table", Click.__table__)
NUMBERS = ("time_ms", "link_id", "workspace_id", "is_bot", "visitor")
TEXTS = ("bot_name", *Visit._fields[Visit._fields.index("visitor") + 1 :])
LANGUAGE = TEXTS.index("language")
COLUMNS = (*NUMBERS, *(f"{name}_id" for name in TEXTS))
SEQUENCE = "clicks.click_id_seq"


def append_clicks(connection: Connection, terms: Interner, visits: Sequence[Visit]) -> None:
    """Adds a row for each click, in their order, and all of them to the roll-ups and to the feed of events.

    The caller commits, and then calls `terms.keep()`.
    """
    terms.begin(connection)
    said = [texts_of_click(visit) for visit in visits]
    ids = terms.ids(connection, {text for each in said for text in each})
    seen = [numbers_of(visit) for visit in visits]
    rows = [(*each, *map(ids.get, words)) for each, words in zip(seen, said, strict=True)]
    if rows:
        entries.add_clicks(connection, insert_rows(connection, rows), places_of(seen))
    roll_up(connection, seen)
    store_descriptions(connection, terms, {visit.agent for visit in visits})


def numbers_of(visit: Visit) -> Visited:
    return (visit.time_ms, visit.link_id, visit.workspace_id, bool(visit.is_bot), visit.visitor or None)


def texts_of_click(visit: Visit) -> tuple[str, ...]:
    """The texts of a click, its language reduced to the primary subtag, whichever version wrote it."""
    words = (visit.bot_name, *visit[6:])
    return (
        words
        if "-" not in visit.language
        else (*words[:LANGUAGE], primary_subtag(visit.language), *words[LANGUAGE + 1 :])
    )


def primary_subtag(language: str) -> str:
    return language.partition("-")[0].lower()


def places_of(seen: Sequence[Visited]) -> Iterator[entries.Clicked]:
    """The link, the workspace and the time of each click."""
    return ((each[1], each[2], each[0]) for each in seen)


def insert_rows(connection: Connection, rows: list[tuple[Any, ...]]) -> int:
    """Inserts rows, one at least, under ids in their order; returns the first.

    No other transaction gets ids between them: all that add entries to the feed hold its counter by then.
    """
    if connection.dialect.name == "postgresql":
        partitions.cover_times(connection, [row[0] for row in rows])
        entries.reserve(connection, 0)
        first = int(connection.exec_driver_sql(f"SELECT nextval('{SEQUENCE}')").scalar_one()) + 1
        copy_rows(connection, rows)
        return first
    first = entries.reserve_clicks(connection, len(rows))
    names, marks = ", ".join(("id", *COLUMNS)), ", ".join("?" * (1 + len(COLUMNS)))
    numbered = [(id_, *row) for id_, row in enumerate(rows, first)]
    connection.exec_driver_sql(f"INSERT INTO {CLICKS.name} ({names}) VALUES ({marks})", numbered)  # noqa: S608
    return first


def copy_rows(connection: Connection, rows: list[tuple[Any, ...]]) -> None:
    """Inserts rows by COPY, which takes PostgreSQL a tenth of the time of INSERTs."""
    statement = f"COPY {CLICKS.fullname} ({', '.join(COLUMNS)}) FROM STDIN"
    cursor = cast("Any", connection.connection.cursor())
    with cursor, cursor.copy(statement) as lines:
        for row in rows:
            lines.write_row(row)


AGENTS = cast("Table", Agent.__table__)


def store_descriptions(connection: Connection, terms: Interner, texts: set[str]) -> None:
    """Stores device, system and browser of each. The caller commits, and then calls `terms.keep()`."""
    new = {text: parse_device(text) for text in texts - terms.described if text}
    ids = terms.ids(connection, {*new, *(word for found in new.values() for word in found)})
    rows = [(ids[text], *map(ids.get, new[text])) for text in sorted(new)]
    bulk.insert_rows(connection, AGENTS, rows, "DO NOTHING")
    terms.describing(new)
