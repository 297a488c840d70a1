"""Was this creation asked for before, and how was it answered?

A reservation is committed first, so that a second request knows that the first still runs. The answer is
written in the very transaction that creates: whoever dies in between has created nothing, and whoever lost
the reservation to another (its lease ran out) creates nothing either.
"""

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

from app.api.models import IdempotencyKey
from app.bodies import malformed
from app.clock import now
from app.database import begin_write
from app.errors import Conflict, FieldError, Invalid, StillRunning
from app.extensions import db
from app.sealing import Unreadable
from app.secret_keys.ring import keys
from app.sent import Nested, Sent, Upload, Value

KEPT = dt.timedelta(hours=24)
LEASE = dt.timedelta(seconds=30)  # longer than any request takes that is still alive
SHAPE = re.compile(r"[ -~]{1,255}", re.ASCII)
KEPT_HEADERS = ("Content-Type", "Location", "Preference-Applied")

Keep = Callable[[Response], None]


def once(user_id: int, sent: Sent, work: Callable[[Keep], Response]) -> Response:
    """The answer of `work`, or the one that it gave before under the same `Idempotency-Key`.

    `work` gets a function to call with its answer right before it commits.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return work(lambda _answer: None)
    if not SHAPE.fullmatch(key):
        raise malformed("An Idempotency-Key has 1 to 255 printable ASCII characters.")
    reservation = Reservation(user_id, key, digests(sent))
    before = reservation.take()
    if before is not None:
        return replayed(before)
    try:
        return work(reservation.keep)
    except BaseException:
        reservation.release()
        raise


class Reservation:
    """One try to answer under a key."""

    def __init__(self, user_id: int, key: str, digests: Sequence[str]) -> None:
        self.user_id, self.key, self.digests = user_id, key, digests
        self.token = secrets.token_hex(16)
        self.mine = (
            IdempotencyKey.user_id == user_id,
            IdempotencyKey.key == key,
            IdempotencyKey.token == self.token,
        )

    def take(self) -> dict[str, Any] | None:
        """Reserve the key and return None, or return the answer that stands under it."""
        begin_write(db.session)
        db.session.execute(delete(IdempotencyKey).where(IdempotencyKey.datetime < now() - KEPT))
        row: IdempotencyKey | None = db.session.scalar(
            select(IdempotencyKey).filter_by(user_id=self.user_id, key=self.key).with_for_update()
        )
        if row is None:
            row = IdempotencyKey(user_id=self.user_id, key=self.key)
            db.session.add(row)
        elif row.digest not in self.digests:
            raise reused()
        elif row.answer is not None and not isinstance(row.answer, Unreadable):
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
        """Write the answer into the transaction that creates. Raises Conflict where the lease was lost."""
        kept = {
            "status": answer.status_code,
            "headers": {name: answer.headers[name] for name in KEPT_HEADERS if name in answer.headers},
            "body": answer.get_data(as_text=True),
        }
        found = db.session.execute(update(IdempotencyKey).where(*self.mine).values(answer=kept))
        if found.rowcount != 1:  # type: ignore[attr-defined]
            raise Conflict(FieldError("This took too long, and another request took over.", "idempotency"))

    def release(self) -> None:
        """Nothing was created: the same key may be tried again."""
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


def running() -> StillRunning:
    text = "The first request with this Idempotency-Key is still running."
    return StillRunning(1, FieldError(text, "idempotency_key_in_use"))


def digests(sent: Sent) -> list[str]:
    """What makes two requests the same: path, fields (whatever encoding they came in), contents of files.

    Keyed, for fields hold passwords, which nobody shall try out on a stolen database. One for each secret key
    that is known, the current one first.
    """
    fields = sorted((name, index, mark(value)) for name, index, value in sent.pairs())
    text = json.dumps([request.path.rstrip("/"), fields])
    return [
        hmac.new(key.encode(), b"idempotency" + text.encode(), hashlib.sha256).hexdigest()
        for key in keys().all()
    ]


def mark(value: Value) -> list[str]:
    if isinstance(value, Upload):
        return ["file", hashlib.sha256(value.content).hexdigest()]
    return ["nested"] if isinstance(value, Nested) else ["text", value]
