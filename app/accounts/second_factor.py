"""Is who knows the password also who has the app, or one of the recovery codes?

Codes are those of RFC 6238: six digits, of 30 seconds each, SHA-1, as every authenticator app makes them.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote, urlencode

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from sqlalchemy import delete, func, select, update

from app.accounts.models import RecoveryCode, SecondFactor, User
from app.accounts.passwords import hash_as_stored, hash_together
from app.audit.services import record
from app.clock import now
from app.extensions import db

STEP_SECONDS, DIGITS, SECRET_BYTES = 30, 6, 20
AROUND = (0, -1, 1)  # clocks go a little wrong, and people type slowly
SHOWN_FOR = dt.timedelta(minutes=15)  # a secret that nobody has confirmed
HOW_MANY = 10
# no letters that look like others; ten of them are 2^49
LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
CODE = re.compile(r"[0-9]{6}", re.ASCII)
APP, RECOVERY = "app", "recovery"


class NewCodes(NamedTuple):
    """Recovery codes as they are shown once, and as they are stored."""

    shown: list[str]
    hashes: list[str]


class Typed(NamedTuple):
    """A code as it was typed, and its hash as a recovery code, one for each salt that the user's have."""

    code: str
    hashes: list[str]


def begin(user: User) -> None:
    """A new secret, which is asked for only once `confirm` has seen a code of it. Does not commit."""
    forget(user)
    secret = base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()
    db.session.add(SecondFactor(user_id=user.id, settings={"secret": secret}))
    db.session.flush()


def forget(user: User) -> None:
    """Neither app nor recovery codes any more."""
    if is_on(user):
        record(db.session, "two_factor.disabled", account=user)
    for model in (RecoveryCode, SecondFactor):
        db.session.execute(delete(model).where(model.user_id == user.id))
    db.session.expire_all()


def find(user: User) -> SecondFactor | None:
    return db.session.get(SecondFactor, user.id)


def is_on(user: User) -> bool:
    found = find(user)
    return found is not None and found.confirmed_datetime is not None


def begun(user: User) -> SecondFactor | None:
    """What waits to be confirmed; not for ever, for whoever sees the page can read it there."""
    found = find(user)
    waits = found is not None and found.confirmed_datetime is None and found.datetime > now() - SHOWN_FOR
    return found if found and waits and "secret" in found.settings else None


def address_of(factor: SecondFactor, email: str) -> str:
    """The `otpauth:` address that apps read from a QR code."""
    named = {"secret": factor.settings["secret"], "issuer": "Waypost"}
    return f"otpauth://totp/Waypost:{quote(email)}?{urlencode(named)}"


def draw_codes(user: User, code: str) -> NewCodes | None:
    """Recovery codes that are stored nowhere yet; None where `code` is not one of the app's at this moment.

    Ten hashes take a quarter of a second: call it before the write begins. Raises Busy.
    """
    factor = find(user)
    if factor is None or current_step(factor, code) is None:
        return None
    codes = ["".join(secrets.choice(LETTERS) for _ in range(10)) for _ in range(HOW_MANY)]
    hashes = hash_together([digest_of(user, code) for code in codes])
    return NewCodes([f"{code[:5]}-{code[5:]}" for code in codes], hashes)


def confirm(user: User, code: str, drawn: NewCodes) -> bool:
    """Switch on what was begun, with these recovery codes. False for a wrong code."""
    if begun(user) is None or not takes_code(user, code):
        return False
    on = update(SecondFactor).where(SecondFactor.user_id == user.id).values(confirmed_datetime=now())
    db.session.execute(on)
    record(db.session, "two_factor.enabled", account=user)
    store_codes(user, drawn)
    return True


def renew(user: User, code: str, drawn: NewCodes) -> bool:
    """These recovery codes in place of the ones before, for a code of the app's. False for any other."""
    if not is_on(user) or not takes_code(user, code):
        return False
    record(db.session, "recovery_codes.renewed", account=user)
    store_codes(user, drawn)
    return True


def store_codes(user: User, drawn: NewCodes) -> None:
    """In place of all that there were."""
    db.session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user.id))
    db.session.add_all(RecoveryCode(user_id=user.id, digest=digest) for digest in drawn.hashes)
    db.session.flush()


def codes_left(user: User) -> int:
    mine = RecoveryCode.user_id == user.id, RecoveryCode.used_datetime.is_(None)
    return db.session.scalar(select(func.count()).select_from(RecoveryCode).where(*mine)) or 0


def read_typed(user: User, typed: str) -> Typed:
    """What was typed, ready to be compared; hashed where it may be a recovery code, so call it before the
    write begins. Raises Busy."""
    code = re.sub(r"[\s-]", "", typed).lower()
    if CODE.fullmatch(code):
        return Typed(code, [])
    mine = RecoveryCode.user_id == user.id, RecoveryCode.used_datetime.is_(None)
    stored = db.session.scalars(select(RecoveryCode.digest).where(*mine)).all()
    return Typed(code, hash_as_stored(stored, digest_of(user, code)))


def opens(user: User, typed: Typed) -> str | None:
    """`app` or `recovery` where this is a code that is good, which it then is no more; else None.

    In a write that the caller has begun and commits.
    """
    if CODE.fullmatch(typed.code):
        return APP if takes_code(user, typed.code) else None
    return RECOVERY if takes_recovery_code(user, typed) else None


def takes_code(user: User, typed: str) -> bool:
    """The step moves by compare-and-swap: of the same code sent twice at once, one is taken."""
    factor = find(user)
    step = current_step(factor, typed) if factor else None
    if step is None:
        return False
    mine = SecondFactor.user_id == user.id, SecondFactor.last_step < step
    taken = update(SecondFactor).where(*mine).values(last_step=step).returning(SecondFactor.user_id)
    return db.session.scalar(taken, execution_options={"synchronize_session": False}) is not None


def current_step(factor: SecondFactor, typed: str) -> int | None:
    """Which of the steps around this moment the code is of; None for any other text."""
    code = re.sub(r"\s", "", typed)
    if "secret" not in factor.settings or not CODE.fullmatch(code):
        return None
    return step_of(code, factor.settings["secret"], int(now().timestamp()) // STEP_SECONDS)


def step_of(code: str, secret: str, current: int) -> int | None:
    """Which of the steps around `current` this is the code of."""
    totp = TOTP(base64.b32decode(secret), DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303  what apps know
    steps: Iterable[int] = (current + aside for aside in AROUND)
    right = [s for s in steps if hmac.compare_digest(totp.generate(s * STEP_SECONDS), code.encode())]
    return right[0] if right else None


def takes_recovery_code(user: User, typed: Typed) -> bool:
    mine = (
        RecoveryCode.user_id == user.id,
        RecoveryCode.digest.in_(typed.hashes),
        RecoveryCode.used_datetime.is_(None),
    )
    used = update(RecoveryCode).where(*mine).values(used_datetime=now()).returning(RecoveryCode.id)
    return db.session.scalar(used, execution_options={"synchronize_session": False}) is not None


def digest_of(user: User, code: str) -> str:
    """What argon2id is made of. Before 2026-11-22 this was stored itself; a migration has hashed it."""
    return hashlib.sha256(f"{user.id}:{code}".encode("utf-8", "replace")).hexdigest()
