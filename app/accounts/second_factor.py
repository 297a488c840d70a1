"""Two-factor authentication: authenticator apps (TOTP), recovery codes, and whether it is on.

It is on while the user has an app or a passkey (`passkeys`). Recovery codes stand in for either.

Codes follow RFC 6238: six digits, steps of 30 seconds, SHA-1, as every authenticator app computes them.
"""

# see docs/decisions/2026-11-21-doors-of-an-account.md
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
from sqlalchemy import delete, exists, func, select, update

from app.accounts.models import Passkey, RecoveryCode, SecondFactor, User
from app.accounts.passwords import hash_as_stored, hash_together
from app.audit.services import record
from app.core.clock import now
from app.core.extensions import db

STEP_SECONDS, DIGITS, SECRET_BYTES = 30, 6, 20
AROUND = (0, -1, 1)  # steps: clocks differ a little, and people type slowly
SHOWN_FOR = dt.timedelta(minutes=15)  # how long a secret can be confirmed
HOW_MANY = 10
# no characters that look like others; ten of these make 2^49 codes
LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
CODE = re.compile(r"[0-9]{6}", re.ASCII)
APP, RECOVERY = "app", "recovery"


class NewCodes(NamedTuple):
    """Recovery codes: as text, which is shown once, and as hashes, which are stored."""

    shown: list[str]
    hashes: list[str]


class TypedCode(NamedTuple):
    """A code as typed, and its hashes as a recovery code: one for each salt among the user's codes."""

    code: str
    hashes: list[str]


def begin(user: User) -> None:
    """Creates a new secret. It takes effect only once `confirm` has accepted a code. Does not commit."""
    db.session.execute(delete(SecondFactor).where(SecondFactor.user_id == user.id))
    db.session.expire_all()
    secret = base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()
    db.session.add(SecondFactor(user_id=user.id, settings={"secret": secret}))
    db.session.flush()


def forget(user: User) -> None:
    """Removes the user's app secret, passkeys and recovery codes."""
    if is_on(user):
        record(db.session, "two_factor.disabled", account=user)
    for model in (RecoveryCode, SecondFactor, Passkey):
        db.session.execute(delete(model).where(model.user_id == user.id))
    db.session.expire_all()


def remove_app(user: User) -> None:
    """Removes the authenticator app. Passkeys and recovery codes stay where there is a passkey."""
    if not has_passkey(user):
        return forget(user)
    if has_app(user):
        record(db.session, "authenticator_app.removed", account=user)
    db.session.execute(delete(SecondFactor).where(SecondFactor.user_id == user.id))
    db.session.expire_all()
    return None


def find(user: User) -> SecondFactor | None:
    return db.session.get(SecondFactor, user.id)


def has_app(user: User) -> bool:
    found = find(user)
    return found is not None and found.confirmed_datetime is not None


def has_passkey(user: User) -> bool:
    return bool(db.session.scalar(select(exists().where(Passkey.user_id == user.id))))


def is_on(user: User) -> bool:
    """Whether the password alone does not sign in."""
    return has_app(user) or has_passkey(user)


def find_unconfirmed(user: User) -> SecondFactor | None:
    """The secret that waits for confirmation, for 15 minutes at most: the page shows it in clear."""
    found = find(user)
    waits = found is not None and found.confirmed_datetime is None and found.datetime > now() - SHOWN_FOR
    return found if found and waits and "secret" in found.settings else None


def address_of(factor: SecondFactor, email: str) -> str:
    """The `otpauth:` URL that apps read from a QR code."""
    named = {"secret": factor.settings["secret"], "issuer": "Waypost"}
    return f"otpauth://totp/Waypost:{quote(email)}?{urlencode(named)}"


def draw_codes(user: User, code: str) -> NewCodes | None:
    """Generates recovery codes without storing them; None unless `code` is currently valid for the app.

    Call it before the write begins. Raises Busy.
    """
    factor = find(user)
    return None if factor is None or current_step(factor, code) is None else make_codes(user)


def make_codes(user: User) -> NewCodes:
    """Generates recovery codes without storing them.

    Ten hashes take a quarter of a second, so call it before the write begins. Raises Busy.
    """
    codes = ["".join(secrets.choice(LETTERS) for _ in range(10)) for _ in range(HOW_MANY)]
    hashes = hash_together([digest_of(user, code) for code in codes])
    return NewCodes([f"{code[:5]}-{code[5:]}" for code in codes], hashes)


def confirm(user: User, code: str, drawn: NewCodes) -> bool:
    """Adds the authenticator app, with these recovery codes. False for a wrong code."""
    if find_unconfirmed(user) is None or not takes_code(user, code):
        return False
    was_on = is_on(user)
    on = update(SecondFactor).where(SecondFactor.user_id == user.id).values(confirmed_datetime=now())
    db.session.execute(on)
    record(db.session, "authenticator_app.added" if was_on else "two_factor.enabled", account=user)
    store_codes(user, drawn)
    return True


def renew(user: User, code: str, drawn: NewCodes) -> bool:
    """Replaces the recovery codes, given a valid code of the app. False for any other code."""
    if not has_app(user) or not takes_code(user, code):
        return False
    replace_codes(user, drawn)
    return True


def replace_codes(user: User, drawn: NewCodes) -> None:
    """Replaces the recovery codes of a user who has just proved who they are."""
    record(db.session, "recovery_codes.renewed", account=user)
    store_codes(user, drawn)


def store_codes(user: User, drawn: NewCodes) -> None:
    """Stores these recovery codes in place of all earlier ones."""
    db.session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user.id))
    db.session.add_all(RecoveryCode(user_id=user.id, digest=digest) for digest in drawn.hashes)
    db.session.flush()


def codes_left(user: User) -> int:
    mine = RecoveryCode.user_id == user.id, RecoveryCode.used_datetime.is_(None)
    return db.session.scalar(select(func.count()).select_from(RecoveryCode).where(*mine)) or 0


def read_typed(user: User, typed: str) -> TypedCode:
    """Prepares a typed code for comparison.

    What may be a recovery code is hashed, so call it before the write begins. Raises Busy.
    """
    code = re.sub(r"[\s-]", "", typed).lower()
    if CODE.fullmatch(code):
        return TypedCode(code, [])
    mine = RecoveryCode.user_id == user.id, RecoveryCode.used_datetime.is_(None)
    stored = db.session.scalars(select(RecoveryCode.digest).where(*mine)).all()
    return TypedCode(code, hash_as_stored(stored, digest_of(user, code)))


def accept_code(user: User, typed: TypedCode) -> str | None:
    """Accepts a valid code, which is used up by that: returns `app` or `recovery`, else None.

    The caller has begun the write, and commits.
    """
    if CODE.fullmatch(typed.code):
        return APP if takes_code(user, typed.code) else None
    return RECOVERY if takes_recovery_code(user, typed) else None


def takes_code(user: User, typed: str) -> bool:
    """Accepts an app code. Compare-and-swap of the step: of the same code sent twice at once, one wins."""
    factor = find(user)
    step = current_step(factor, typed) if factor else None
    if step is None:
        return False
    mine = SecondFactor.user_id == user.id, SecondFactor.last_step < step
    taken = update(SecondFactor).where(*mine).values(last_step=step).returning(SecondFactor.user_id)
    return db.session.scalar(taken, execution_options={"synchronize_session": False}) is not None


def current_step(factor: SecondFactor, typed: str) -> int | None:
    """The step around now to which the code belongs; None for any other text."""
    code = re.sub(r"\s", "", typed)
    if "secret" not in factor.settings or not CODE.fullmatch(code):
        return None
    return step_of(code, factor.settings["secret"], int(now().timestamp()) // STEP_SECONDS)


def step_of(code: str, secret: str, current: int) -> int | None:
    """The step around `current` to which the code belongs, or None."""
    totp = TOTP(base64.b32decode(secret), DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303  what apps support
    steps: Iterable[int] = (current + aside for aside in AROUND)
    right = [s for s in steps if hmac.compare_digest(totp.generate(s * STEP_SECONDS), code.encode())]
    return right[0] if right else None


def takes_recovery_code(user: User, typed: TypedCode) -> bool:
    mine = (
        RecoveryCode.user_id == user.id,
        RecoveryCode.digest.in_(typed.hashes),
        RecoveryCode.used_datetime.is_(None),
    )
    used = update(RecoveryCode).where(*mine).values(used_datetime=now()).returning(RecoveryCode.id)
    return db.session.scalar(used, execution_options={"synchronize_session": False}) is not None


def digest_of(user: User, code: str) -> str:
    """The text that argon2id hashes. Before 2026-11-22 it was stored itself; a migration has hashed it."""
    return hashlib.sha256(f"{user.id}:{code}".encode("utf-8", "replace")).hexdigest()
