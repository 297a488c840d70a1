"""Checks that the secret key is the one that the database needs, and that it decrypts what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Column, func, select

from app.core.config import Settings
from app.core.encryption import decrypt_text
from app.core.extensions import db
from app.core.secret_keys import ring
from app.core.secret_keys.check import KeyState, compare_keys, raw_text, sealed_columns
from app.operations.checks.finding import Finding, ok, plural, problem, warning
from app.operations.secret_key import advise, describe_state

BATCH_SIZE = 500
# tables that are decrypted in full; of all others only fingerprints are compared, for there may be millions
READ_IN_FULL = {"notification_handler", "second_factor", "letter"}
NAMES = {
    "notification_handler": "handler",
    "second_factor": "two-factor secret",
    "link_change": "change of a link",
    "daily_salt": "daily salt",
    "trashed": "thing in the trash",
}


def secret_check(settings: Settings) -> Iterator[Finding]:
    keys = ring.current_keys().all()
    state, needed = compare_keys(db.session, keys)
    if state in {KeyState.MISSING, KeyState.WRONG} and needed:
        yield problem(describe_state(settings, state, needed), advise(settings))
        return
    if state is KeyState.ROTATING:
        yield warning("A rotation of the secret key is not finished.", "./waypost secrets rotate")
    found = {column.table.name: count_unreadable(column, keys) for column in sealed_columns()}
    shut = {name: count for name, count in found.items() if count}
    for name, count in shut.items():
        yield problem(
            f"{plural(count, NAMES.get(name, f'row of {name}'))} can't be read with this secret key.",
            "Restore the key that encrypted them, or have their owners enter them again.",
        )
    if not shut:
        yield ok(f"The secret key decrypts what is stored ({needed or 'nothing is yet'}).")


def count_unreadable(column: Column[Any], keys: tuple[str, ...]) -> int:
    texts = raw_text(column)
    others = [texts.not_like(f"{ring.fingerprint(key)}:%") for key in keys]
    if column.table.name not in READ_IN_FULL:
        marked = select(func.count()).where(texts.like("%:%"), *others)
        return db.session.scalar(marked.select_from(column.table)) or 0
    stored = db.session.scalars(
        select(texts).where(column.is_not(None)).execution_options(yield_per=BATCH_SIZE)
    )
    return sum(decrypt_text(text, keys) is None for text in stored)
