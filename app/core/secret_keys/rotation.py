"""Re-encrypts all secrets in the database with the current secret key, in steps, while servers run.

Each step is a short transaction, and each value names its key: a rotation that was killed is continued by
running it again. `docs/decisions/2026-11-22-secret-key.md` says why nothing is missed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, Row, Select, Table, Text, bindparam, select, text, tuple_, update

from app.core.clock import now
from app.core.database import AnySession, begin_write
from app.core.encryption import decrypt_text, encrypt_text
from app.core.secret_keys.check import find_record, needed_fingerprint, raw_text, sealed_columns
from app.core.secret_keys.models import KeyRecord
from app.core.secret_keys.ring import fingerprint

BATCH_SIZE = 200
MAX_PASSES = 20
PATIENCE_SECONDS = 60.0
NEW = "new_text"


class Progress(NamedTuple):
    """How many values were re-encrypted, and how many no available key could decrypt."""

    rewritten: int = 0
    unreadable: int = 0


def reencrypt_all(session: AnySession, keys: Sequence[str]) -> Progress:
    """Re-encrypts until no value is left that another key than the current one has encrypted.

    Only values that are written meanwhile need another pass. Raises RuntimeError where there are always more:
    some process does not know the current key.
    """
    rewritten = 0
    for _ in range(MAX_PASSES):
        done = reencrypt_once(session, keys)
        rewritten += done.rewritten
        if not done.rewritten:
            return Progress(rewritten, done.unreadable)
    raise RuntimeError("A running process goes on with the old key: restart Waypost, and run this again.")


def reencrypt_once(session: AnySession, keys: Sequence[str]) -> Progress:
    total = Progress()
    for column in sealed_columns():
        last: tuple[Any, ...] | None = None
        while rows := session.execute(next_rows(column, keys[0], last)).all():
            began = time.monotonic()
            done = reencrypt_rows(session, column, rows, keys)
            total = Progress(total.rewritten + done, total.unreadable + len(rows) - done)
            last = tuple(rows[-1][:-1])
            time.sleep(time.monotonic() - began)  # as long as it took, so that others can write, too
    session.rollback()
    return total


def next_rows(column: Column[Any], key: str, after: tuple[Any, ...] | None) -> Select[Any]:
    """Primary keys and texts of rows that the current key has not encrypted."""
    ids = list(table_of(column).primary_key)
    is_other = raw_text(column).not_like(f"{fingerprint(key)}:%")
    found = select(*ids, raw_text(column)).where(column.is_not(None), is_other).order_by(*ids)
    return (found if after is None else found.where(tuple_(*ids) > tuple_(*after))).limit(BATCH_SIZE)


def reencrypt_rows(
    session: AnySession, column: Column[Any], rows: Sequence[Row[Any]], keys: Sequence[str]
) -> int:
    """Re-encrypts rows. Returns how many could be decrypted. One written meanwhile is left alone."""
    ids = list(table_of(column).primary_key)
    found = [(row, decrypt_text(row[-1], tuple(keys))) for row in rows]
    changes: list[Mapping[str, Any]] = [
        {
            **{f"id_{number}": row[number] for number in range(len(ids))},
            "old_text": row[-1],
            NEW: encrypt_text(plain, keys[0]),
        }
        for row, plain in found
        if plain is not None
    ]
    if changes:
        same = [id_ == bindparam(f"id_{number}") for number, id_ in enumerate(ids)]
        is_unchanged = raw_text(column) == bindparam("old_text", type_=Text)
        change = update(table_of(column)).where(*same, is_unchanged)
        begin_write(session)
        session.connection().execute(change.values({column: bindparam(NEW, type_=Text)}), changes)
        session.commit()
    return len(changes)


def table_of(column: Column[Any]) -> Table:
    assert isinstance(column.table, Table)  # noqa: S101  columns of the metadata's tables
    return column.table


def wait_for_writers(session: AnySession, began: float) -> None:
    """Waits until no transaction is open that began before `began` (seconds since 1970).

    It may have encrypted a value with the old key and not committed it yet. SQLite has one writer, which the
    next step waits for anyway. Raises RuntimeError where a transaction does not end.
    """
    if session.get_bind().dialect.name != "postgresql":
        return
    open_ones = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND xact_start < to_timestamp(:began)"
        " AND state <> 'idle' AND backend_xid IS NOT NULL"
    )
    deadline = time.monotonic() + PATIENCE_SECONDS
    while session.scalar(open_ones, {"began": began}):
        session.rollback()
        if time.monotonic() > deadline:
            raise RuntimeError("A transaction of PostgreSQL does not end: end it, and run this again.")
        time.sleep(0.2)
    session.rollback()


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


def is_pending(session: AnySession, current: str) -> bool:
    return needed_fingerprint(session) != fingerprint(current)
