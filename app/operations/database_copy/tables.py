"""Tables that a copy takes: all of the models' tables, with the values as they are stored."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Date,
    DateTime,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    cast,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from app.core.database import CLICKS, Base
from app.jobs import schedule  # noqa: F401  its table is one of the models', which no page imports

# state that a start makes anew, or that must not outlive its day or its server, or that triggers keep: not
# copied, never refused
TRANSIENT = "transient"  # the key in `Table.info`, for tables that are not listed here
NOT_COPIED = frozenset({"daily_salt", "visitor_salt", "rate_limit_count"})
# rows are added with ever higher ids and never changed; what removes some is counted (`interning_state`)
NEVER_CHANGED = frozenset({f"{CLICKS}.click"})

BATCH_ROWS, TEXT_BATCH_ROWS, BINARY_BATCH_ROWS = 5000, 1000, 20
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # PostgreSQL stores no NUL, and UTF-8 has no half surrogates
REPLACEMENT = "\ufffd"

Row = tuple[Any, ...]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class CopiedTable:
    """One table: its columns with plain types, for one of the two kinds of database."""

    table: Table
    is_postgresql: bool

    @property
    def name(self) -> str:
        return self.table.fullname

    @property
    def schema(self) -> str | None:
        return self.table.schema

    @property
    def key(self) -> list[Column[Any]]:
        return list(self.table.primary_key)

    @property
    def is_never_changed(self) -> bool:
        return self.name in NEVER_CHANGED

    @property
    def has_text_key(self) -> bool:
        return any(isinstance(column.type, String) for column in self.key)

    @property
    def ordered_key(self) -> list[ColumnElement[Any]]:
        """The key in one order on both kinds: texts by their bytes."""
        if not self.is_postgresql:
            return list(self.key)
        return [column.collate("C") if isinstance(column.type, String) else column for column in self.key]

    @property
    def selected(self) -> list[ColumnElement[Any]]:
        """All columns. JSON is read as the text that it is stored as."""
        return [
            cast(column, Text).label(column.name)
            if self.is_postgresql and isinstance(column.type, JSON)
            else column
            for column in self.table.columns
        ]

    @property
    def texts(self) -> list[int]:
        """The places of the columns that hold text."""
        kinds = (String, JSON)
        return [place for place, column in enumerate(self.table.columns) if isinstance(column.type, kinds)]

    @property
    def json_places(self) -> list[int]:
        return [place for place, column in enumerate(self.table.columns) if column.info.get("json")]

    @property
    def batch_rows(self) -> int:
        """How many rows are in memory at once: pictures may have megabytes each."""
        kinds = [column.type for column in self.table.columns]
        if any(isinstance(kind, LargeBinary) for kind in kinds):
            return BINARY_BATCH_ROWS
        is_long = any(isinstance(kind, Text | JSON) for kind in kinds)
        return TEXT_BATCH_ROWS if is_long else BATCH_ROWS

    def key_of(self, row: Sequence[Any]) -> Key:
        names = [column.name for column in self.table.columns]
        return tuple(row[names.index(column.name)] for column in self.key)

    def dump_key(self, key: Key) -> str:
        return json.dumps([each.isoformat() if isinstance(each, dt.date) else each for each in key])

    def load_key(self, text: str) -> Key:
        found = json.loads(text)
        return tuple(load_date(column.type, each) for column, each in zip(self.key, found, strict=True))

    def describe_row(self, row: Sequence[Any]) -> str:
        pairs = zip(self.key, self.key_of(row), strict=True)
        return f"{self.name} ({', '.join(f'{column.name} {value!r}' for column, value in pairs)})"


def load_date(kind: TypeEngine[Any], value: Any) -> Any:
    if isinstance(kind, DateTime):
        return dt.datetime.fromisoformat(value)
    return dt.date.fromisoformat(value) if isinstance(kind, Date) else value


def copied_tables(*, is_postgresql: bool) -> list[CopiedTable]:
    """All tables in the order of their foreign keys, clicks first: they are the most."""
    metadata = MetaData()
    known = [table for table in Base.metadata.sorted_tables if not is_transient(table)]
    known.sort(key=lambda table: table.schema != CLICKS)  # stable
    return [CopiedTable(plain_table(table, metadata, is_postgresql), is_postgresql) for table in known]


def transient_tables() -> set[str]:
    return {table.fullname for table in Base.metadata.sorted_tables if is_transient(table)}


def is_transient(table: Table) -> bool:
    return table.name in NOT_COPIED or bool(table.info.get(TRANSIENT))


def plain_table(table: Table, metadata: MetaData, is_postgresql: bool) -> Table:
    """The table without what the application makes of its values, such as the text of an encrypted one."""
    columns = [
        Column(
            column.name,
            plain_type(column.type, is_postgresql),
            primary_key=column.primary_key,
            info={"json": isinstance(undecorated(column.type), JSON)},
        )
        for column in table.columns
    ]
    return Table(table.name, metadata, *columns, schema=table.schema)


def undecorated(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    while isinstance(kind, TypeDecorator):
        kind = kind.impl_instance
    return kind


def plain_type(kind: TypeEngine[Any], is_postgresql: bool) -> TypeEngine[Any]:
    found = undecorated(kind)
    if isinstance(found, JSON):
        return JSON() if is_postgresql else Text()
    for plain in (Boolean, BigInteger, Integer, Float, DateTime, Date, LargeBinary, Text, String):
        if isinstance(found, plain):
            return plain()
    raise NotImplementedError(f"no copy of values of the type {found!r}")


def canonical(table: CopiedTable, row: Sequence[Any]) -> Row:
    """A row as both kinds of database show it: PostgreSQL may write the same JSON in another way."""
    found = list(row)
    for place in table.json_places:
        if found[place] is not None:
            try:
                found[place] = json.dumps(json.loads(found[place]), sort_keys=True)
            except (ValueError, RecursionError):
                continue  # the text itself is compared
    return tuple(found)


def replace_unstorable(table: CopiedTable, row: Sequence[Any]) -> tuple[Row, list[str]]:
    """The row with U+FFFD in place of what can't be stored, and the columns in which that was."""
    found, names = list(row), []
    for place in table.texts:
        if isinstance(found[place], str) and UNSTORABLE.search(found[place]):
            found[place] = UNSTORABLE.sub(REPLACEMENT, found[place])
            names.append(list(table.table.columns)[place].name)
    return (tuple(found), names) if names else (tuple(row), names)


def names_of(tables: Iterable[CopiedTable]) -> set[str]:
    return {table.name for table in tables}
