"""The secret key that the database needs: compared with the configured one, and replaced by another.

A rotation re-encrypts in short transactions while servers run. Each value names its key, so a rotation that
was killed is continued by running it again.
"""

# see docs/decisions/2026-11-22-secret-key.md
from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from sqlalchemy import Column, Table, Text, func, literal, select, text, tuple_, type_coerce, update

from app.core.clock import now
from app.core.database import AnySession, Base, begin_write
from app.core.encryption import SealedJson, decrypt_text, encrypt_text
from app.core.secret_keys.models import KeyRecord
from app.core.secret_keys.ring import fingerprint

SAMPLE_SIZE = 5
BATCH_SIZE = 200
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
    texts = [stored for column in sealed_columns() for stored in sample(session, column)]
    return not texts or any(decrypt_text(stored, tuple(keys)) is not None for stored in texts)


def sample(session: AnySession, column: Column[Any]) -> Sequence[str]:
    """The newest texts of a column, as they are stored."""
    newest = [key.desc() for key in table_of(column).primary_key]
    raw = select(raw_text(column)).where(column.is_not(None)).order_by(*newest).limit(SAMPLE_SIZE)
    return session.scalars(raw).all()


def raw_text(column: Column[Any]) -> Any:
    """The stored text of a column, not decrypted."""
    return type_coerce(column, Text)


def table_of(column: Column[Any]) -> Table:
    assert isinstance(column.table, Table)  # noqa: S101  columns of the metadata's tables
    return column.table


# --- rotation


class Progress(NamedTuple):
    """How many values were re-encrypted, and how many no available key could decrypt."""

    rewritten: int = 0
    unreadable: int = 0


def reencrypt_all(session: AnySession, keys: Sequence[str]) -> Progress:
    """Re-encrypts what other keys have encrypted than the current one, which every process has to know.

    Does so in short transactions, then for what was written meanwhile in one beside which nobody writes. The
    caller retires the key in that one and commits.
    """
    first = reencrypt(session, keys, commits=True)
    begin_write(session)
    if session.get_bind().dialect.name == "postgresql":  # waits for transactions that are open
        tables = {table_of(column).name for column in sealed_columns()}
        session.execute(text(f"LOCK TABLE {', '.join(sorted(tables))} IN SHARE MODE"))
    last = reencrypt(session, keys, commits=False)
    return Progress(first.rewritten + last.rewritten, last.unreadable)


def reencrypt(session: AnySession, keys: Sequence[str], *, commits: bool) -> Progress:
    total = Progress()
    for column in sealed_columns():
        after: tuple[Any, ...] | None = None
        is_over = False
        while not is_over:
            began = time.monotonic()
            if commits:
                begin_write(session)
            done, after = reencrypt_batch(session, column, keys, after)
            is_over = after is None
            total = Progress(total.rewritten + done.rewritten, total.unreadable + done.unreadable)
            if commits:
                session.commit()
                time.sleep(time.monotonic() - began)  # as long as it took, so that others can write, too
    return total


def reencrypt_batch(
    session: AnySession, column: Column[Any], keys: Sequence[str], after: tuple[Any, ...] | None
) -> tuple[Progress, tuple[Any, ...] | None]:
    """Re-encrypts the next values of a column. Returns the primary key of the last one; None at the end."""
    table, stored = table_of(column), raw_text(column)
    ids = list(table.primary_key)
    is_other = stored.not_like(f"{fingerprint(keys[0])}:%")
    found = select(*ids, stored).where(column.is_not(None), is_other).order_by(*ids).limit(BATCH_SIZE)
    if after is not None:
        found = found.where(tuple_(*ids) > tuple_(*after))
    rows = session.execute(found.with_for_update()).all()
    rewritten = 0
    for *key, sealed in rows:
        plain = decrypt_text(sealed, tuple(keys))
        if plain is not None:
            new = literal(encrypt_text(plain, keys[0]), Text())
            is_it = [id_ == value for id_, value in zip(ids, key, strict=True)]
            session.execute(update(table).where(*is_it).values({column: new}))
            rewritten += 1
    return Progress(rewritten, len(rows) - rewritten), tuple(rows[-1][:-1]) if rows else None


def retire_key(session: AnySession, old: str, current: str, verifiers: Mapping[str, str]) -> None:
    """Records that the database needs the current key alone, in a write that the caller has begun."""
    for of, retired in ((old, now()), (current, None)):
        record = find_record(session, fingerprint(of))
        if record is None:
            record = KeyRecord(fingerprint=fingerprint(of))
            session.add(record)
        record.retired_datetime = retired
        if retired:
            record.verifiers = dict(verifiers)
        session.flush()
