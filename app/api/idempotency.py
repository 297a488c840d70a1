"""Idempotent creation by `Idempotency-Key`: a repeated request gets the stored answer.

A reservation is committed first, so that a second request knows that the first still runs. The answer is
written in the same transaction that creates. So a request that dies in between has created nothing, and one
that lost its reservation because its lease expired creates nothing either.
"""

# see docs/decisions/2026-11-20-idempotency.md
from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from flask import Response, request
from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError

from app.accounts.access import Access
from app.api.models import IdempotencyKey
from app.core.clock import now
from app.core.database import begin_write
from app.core.encryption import UnreadableSecret
from app.core.errors import Conflict, FieldError, Invalid, RequestInProgress
from app.core.extensions import db
from app.core.secret_keys.ring import current_keys
from app.input.data import Nested, RequestData, Upload, Value
from app.web.body import malformed

RETENTION = dt.timedelta(hours=24)
LEASE = dt.timedelta(seconds=30)  # longer than any live request takes
SHAPE = re.compile(r"[ -~]{1,255}", re.ASCII)
STORED_HEADERS = ("Content-Type", "Location", "ETag", "Preference-Applied")

Keep = Callable[[Response], None]


def answer_once(access: Access, sent: RequestData, work: Callable[[Keep], Response]) -> Response:
    """The answer of `work`, or the stored one of an earlier request with the same `Idempotency-Key`.

    `work` gets a function to call with its answer right before it commits.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return work(lambda _answer: None)
    if not SHAPE.fullmatch(key):
        raise malformed("An Idempotency-Key has 1 to 255 printable ASCII characters.")
    reservation = Reservation(access, key, digests(sent))
    before = reservation.take()
    if before is not None:
        return replayed(before)
    try:
        return work(reservation.keep)
    except BaseException:
        reservation.release()
        raise


class Reservation:
    """One request's claim on an idempotency key: of a user in a workspace."""

    def __init__(self, access: Access, key: str, digests: Sequence[str]) -> None:
        self.columns, self.digests = {**access.row_columns, "key": key}, digests
        self.token = secrets.token_hex(16)
        self.mine = (
            IdempotencyKey.user_id == access.user.id,
            IdempotencyKey.workspace_id == access.workspace_id,
            IdempotencyKey.key == key,
            IdempotencyKey.token == self.token,
        )

    def take(self) -> dict[str, Any] | None:
        """Reserves the key and returns None, or returns the answer stored under it."""
        begin_write(db.session)
        db.session.execute(delete(IdempotencyKey).where(IdempotencyKey.datetime < now() - RETENTION))
        row: IdempotencyKey | None = db.session.scalar(
            select(IdempotencyKey).filter_by(**self.columns).with_for_update()
        )
        if row is None:
            row = IdempotencyKey(**self.columns)
            db.session.add(row)
        elif row.digest not in self.digests:
            raise reused()
        elif row.answer is not None and not isinstance(row.answer, UnreadableSecret):
            return row.answer
        elif row.answer is None and row.lease_until > now():
            raise running()
        row.digest, row.token, row.lease_until = self.digests[0], self.token, now() + LEASE
        row.answer = None
        self.commit()
        return None

    def commit(self) -> None:
        try:
            db.session.commit()
        except IntegrityError:  # PostgreSQL: another request made the row meanwhile
            db.session.rollback()
            raise running() from None

    def keep(self, answer: Response) -> None:
        """Writes the answer in the transaction that creates. Raises Conflict if the lease was lost."""
        kept = {
            "status": answer.status_code,
            "headers": {name: answer.headers[name] for name in STORED_HEADERS if name in answer.headers},
            "body": answer.get_data(as_text=True),
        }
        found = db.session.execute(update(IdempotencyKey).where(*self.mine).values(answer=kept))
        if found.rowcount != 1:  # type: ignore[attr-defined]
            raise Conflict(FieldError("This took too long, and another request took over.", "idempotency"))

    def release(self) -> None:
        """Releases the key after a failure: nothing was created, and the key may be used again."""
        begin_write(db.session)
        db.session.execute(delete(IdempotencyKey).where(*self.mine, IdempotencyKey.answer.is_(None)))
        db.session.commit()


def replayed(kept: dict[str, Any]) -> Response:
    db.session.rollback()
    headers = {**kept["headers"], "Idempotency-Replayed": "true"}
    return Response(kept["body"], kept["status"], headers)


def reused() -> Invalid:
    text = "This Idempotency-Key was used with another request."
    return Invalid(FieldError(text, "idempotency_key_reused"))


def running() -> RequestInProgress:
    text = "The first request with this Idempotency-Key is still running."
    return RequestInProgress(1, FieldError(text, "idempotency_key_in_use"))


def digests(sent: RequestData) -> list[str]:
    """Digests of path, fields (in any encoding) and contents of files: equal for the same request.

    They are keyed, because fields hold passwords, which must not be guessable from a stolen database. There
    is one for each known secret key, the current one first.
    """
    text = json.dumps([request.path.rstrip("/"), marks(sent)])
    return [
        hmac.new(key.encode(), b"idempotency" + text.encode(), hashlib.sha256).hexdigest()
        for key in current_keys().all()
    ]


def mark(value: Value) -> list[Any]:
    if isinstance(value, Upload):
        return ["file", hashlib.sha256(value.content).hexdigest()]
    return ["nested", *marks(value.fields)] if isinstance(value, Nested) else ["text", value]


def marks(fields: RequestData | None) -> list[Any]:
    return sorted((name, index, mark(value)) for name, index, value in fields.pairs()) if fields else []
