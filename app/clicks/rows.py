"""How do visits become rows?

Whatever is a source of visits (today the journal) ends here: `append` takes them as values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import Table
from sqlalchemy.engine import Connection

from app.clicks.models import Click
from app.clicks.terms import Terms
from app.journal.record import Visit

CLICKS = cast("Table", Click.__table__)
NUMBERS = ("time_ms", "link_id", "user_id", "is_bot", "visitor")
TEXTS = ("bot_name", *Visit._fields[Visit._fields.index("visitor") + 1 :])
COLUMNS = (*NUMBERS, *(f"{name}_id" for name in TEXTS))


def append(connection: Connection, terms: Terms, visits: Sequence[Visit]) -> None:
    """Add a row for each visit, in their order. `terms.keep()` follows once this is committed."""
    ids = terms.ids(connection, {text for visit in visits for text in texts(visit)})
    rows = [(*numbers(visit), *map(ids.get, texts(visit))) for visit in visits]
    if connection.dialect.name == "postgresql":
        copy(connection, rows)
    elif rows:
        names, marks = ", ".join(COLUMNS), ", ".join("?" * len(COLUMNS))
        connection.exec_driver_sql(f"INSERT INTO {CLICKS.name} ({names}) VALUES ({marks})", rows)  # noqa: S608


def numbers(visit: Visit) -> tuple[Any, ...]:
    return (visit.time_ms, visit.link_id, visit.user_id, bool(visit.is_bot), visit.visitor or None)


def texts(visit: Visit) -> tuple[str, ...]:
    return (visit.bot_name, *visit[6:])


def copy(connection: Connection, rows: list[tuple[Any, ...]]) -> None:
    """The same with COPY, which takes PostgreSQL a tenth of the time of INSERTs."""
    statement = f"COPY {CLICKS.fullname} ({', '.join(COLUMNS)}) FROM STDIN"
    cursor = cast("Any", connection.connection.cursor())
    with cursor, cursor.copy(statement) as lines:
        for row in rows:
            lines.write_row(row)
