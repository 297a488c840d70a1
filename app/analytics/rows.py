"""How do visits become rows?

Whatever is a source of visits (today the journal) ends here: `append` takes them as values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import Table
from sqlalchemy.engine import Connection

from app.clicks.agents import describe
from app.clicks.models import Click
from app.clicks.rollups import Visited, roll_up
from app.clicks.terms import Terms
from app.journal.record import Visit

CLICKS = cast("Table", Click.__table__)
NUMBERS = ("time_ms", "link_id", "user_id", "is_bot", "visitor")
TEXTS = ("bot_name", *Visit._fields[Visit._fields.index("visitor") + 1 :])
LANGUAGE = TEXTS.index("language")
COLUMNS = (*NUMBERS, *(f"{name}_id" for name in TEXTS))


def append(connection: Connection, terms: Terms, visits: Sequence[Visit]) -> None:
    """Add a row for each visit, in their order, and all of them to the sums. `terms.keep()` follows once
    this is committed."""
    terms.begin(connection)
    said = [texts(visit) for visit in visits]
    ids = terms.ids(connection, {text for each in said for text in each})
    seen = [numbers(visit) for visit in visits]
    insert(connection, [(*each, *map(ids.get, words)) for each, words in zip(seen, said, strict=True)])
    roll_up(connection, seen)
    describe(connection, terms, {visit.agent for visit in visits})


def numbers(visit: Visit) -> Visited:
    return (visit.time_ms, visit.link_id, visit.user_id, bool(visit.is_bot), visit.visitor or None)


def texts(visit: Visit) -> tuple[str, ...]:
    """Languages by their primary subtag, whoever wrote the visit down."""
    words = (visit.bot_name, *visit[6:])
    return (
        words
        if "-" not in visit.language
        else (*words[:LANGUAGE], primary(visit.language), *words[LANGUAGE + 1 :])
    )


def primary(language: str) -> str:
    return language.partition("-")[0].lower()


def insert(connection: Connection, rows: list[tuple[Any, ...]]) -> None:
    if connection.dialect.name == "postgresql":
        copy(connection, rows)
    elif rows:
        names, marks = ", ".join(COLUMNS), ", ".join("?" * len(COLUMNS))
        connection.exec_driver_sql(f"INSERT INTO {CLICKS.name} ({names}) VALUES ({marks})", rows)  # noqa: S608


def copy(connection: Connection, rows: list[tuple[Any, ...]]) -> None:
    """The same with COPY, which takes PostgreSQL a tenth of the time of INSERTs."""
    statement = f"COPY {CLICKS.fullname} ({', '.join(COLUMNS)}) FROM STDIN"
    cursor = cast("Any", connection.connection.cursor())
    with cursor, cursor.copy(statement) as lines:
        for row in rows:
            lines.write_row(row)
