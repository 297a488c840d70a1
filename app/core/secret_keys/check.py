"""Compares the configured secret key with the one that the database was encrypted with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from sqlalchemy import Column, Table, Text, func, select, type_coerce

from app.core.clock import now
from app.core.database import AnySession, Base, begin_write
from app.core.encryption import SealedJson, decrypt_text
from app.core.secret_keys.models import KeyRecord
from app.core.secret_keys.ring import fingerprint

SAMPLE_SIZE = 5
FIRST_KEY_LOCK = 0x5EC2E7  # of PostgreSQL, while the database gets its first key


class KeyState(Enum):
    """How the configured keys fit the database. `UNKNOWN`: the database names no key yet."""

    RIGHT = "right"
    ROTATING = "rotating"
    UNKNOWN = "unknown"
    MISSING = "missing"
    WRONG = "wrong"


def compare_keys(session: AnySession, keys: Sequence[str]) -> tuple[KeyState, str]:
    """The state of these keys (the current one first), and the fingerprint that the database needs."""
    needed = needed_fingerprint(session)
    if not needed:
        return (KeyState.UNKNOWN if keys else KeyState.MISSING), ""
    if not keys:
        return KeyState.MISSING, needed
    if needed == fingerprint(keys[0]):
        return KeyState.RIGHT, needed
    return (KeyState.ROTATING if needed in map(fingerprint, keys) else KeyState.WRONG), needed


def needed_fingerprint(session: AnySession) -> str:
    """The fingerprint of the key that is not retired; "" where there is none."""
    return session.scalar(select(KeyRecord.fingerprint).where(KeyRecord.retired_datetime.is_(None))) or ""


def find_record(session: AnySession, of: str) -> KeyRecord | None:
    record: KeyRecord | None = session.scalar(select(KeyRecord).where(KeyRecord.fingerprint == of))
    return record


def retired_verifiers(session: AnySession, purpose: str) -> Iterator[bytes]:
    """Verifiers of signatures that retired keys have made for one purpose."""
    retired = select(KeyRecord.verifiers).where(KeyRecord.retired_datetime.is_not(None))
    for verifiers in session.scalars(retired.order_by(KeyRecord.id.desc())):
        if verifiers and purpose in verifiers:
            yield bytes.fromhex(verifiers[purpose])


def adopt_first_key(session: AnySession, key: str) -> None:
    """Makes this the database's key where it has none yet, else changes nothing. Commits.

    Of several machines that start on an empty database with a key each, the first one's counts.
    """
    begin_write(session)
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(FIRST_KEY_LOCK)))
    if not needed_fingerprint(session):
        session.add(KeyRecord(fingerprint=fingerprint(key)))
    session.commit()


def adopt_key(session: AnySession, key: str) -> None:
    """Makes this the key that the database needs. Commits."""
    begin_write(session)
    for record in session.scalars(select(KeyRecord).where(KeyRecord.retired_datetime.is_(None))):
        record.retired_datetime = now()
    session.flush()
    known = find_record(session, fingerprint(key))
    if known is None:
        session.add(KeyRecord(fingerprint=fingerprint(key)))
    else:
        known.retired_datetime = None
    session.commit()


def sealed_columns() -> Iterator[Column[Any]]:
    """Every column that holds encrypted values, of all tables."""
    for table in Base.metadata.sorted_tables:
        yield from (column for column in table.columns if isinstance(column.type, SealedJson))


def reads_what_there_is(session: AnySession, keys: Sequence[str]) -> bool:
    """Whether these keys decrypt what the database holds, by a sample; True where it holds nothing.

    For a database from before it named its key.
    """
    texts = [text for column in sealed_columns() for text in sample(session, column)]
    return not texts or any(decrypt_text(text, tuple(keys)) is not None for text in texts)


def sample(session: AnySession, column: Column[Any]) -> Sequence[str]:
    """The newest texts of a column, as they are stored."""
    table = column.table
    assert isinstance(table, Table)  # noqa: S101  columns of the metadata's tables
    newest = [key.desc() for key in table.primary_key]
    raw = select(raw_text(column)).where(column.is_not(None)).order_by(*newest).limit(SAMPLE_SIZE)
    return session.scalars(raw).all()


def raw_text(column: Column[Any]) -> Any:
    """The stored text of a column, not decrypted."""
    return type_coerce(column, Text)
