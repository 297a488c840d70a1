"""Passkeys of a user: adds, lists, renames, uses and removes them.

What browsers send is checked in `passkey_ceremonies`. A passkey is a second factor like the authenticator
app: with the first one come recovery codes, and with the last one they go.
"""

# see docs/decisions/2026-11-25-passkeys.md
from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import delete, select, update

from app.accounts import passkey_ceremonies, second_factor
from app.accounts.access import MAX_ID
from app.accounts.models import Passkey, RecoveryCode, User
from app.accounts.passkey_ceremonies import Assertion, Ceremony, NewCredential, PasskeyRefused
from app.accounts.second_factor import NewCodes
from app.audit.services import Object, record
from app.core.clock import now
from app.core.database import begin_write, reread
from app.core.errors import FieldError, Invalid, NotFound
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l

MAX_PASSKEYS = 20
MAX_NAME = 64
FULL = _l("You have 20 passkeys. Remove one that you do not use any more first.")
# by AAGUID, as in the community's list passkeydeveloper/passkey-authenticator-aaguids
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "08987058-cadc-4b81-b6e1-30de50dcbe96": "Windows Hello",
        "50726f74-6f6e-5061-7373-50726f746f6e": "Proton Pass",
        "53414d53-554e-4700-0000-000000000000": "Samsung Pass",
        "531126d6-e717-415c-9320-3d9aa6981239": "Dashlane",
        "6028b017-b1d4-4c02-b4b3-afcdafc96bb2": "Windows Hello",
        "9ddd1817-af5a-4672-a2b9-3e3dd95000a9": "Windows Hello",
        "adce0002-35bc-c60a-648b-0b25f1f05503": "Chrome, Mac",
        "b84e4048-15dc-4dd0-8640-f4f60813c8af": "NordPass",
        "bada5566-a7aa-401f-bd96-45619a55120d": "1Password",
        "d548826e-79b4-db40-a3d8-11116f7e8349": "Bitwarden",
        "dd4ec289-e01d-41c9-bb89-70fa845d4bf2": "Apple Passwords",
        "ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4": "Google Password Manager",
        "fbfc3007-154e-4ecc-8c0b-6e020557d7bd": "Apple Passwords",
    }
)


def list_passkeys(user: User) -> list[Passkey]:
    """All of the user's, the oldest first."""
    return list(db.session.scalars(select(Passkey).where(Passkey.user_id == user.id).order_by(Passkey.id)))


def find_own(user: User, id: int) -> Passkey:
    """The user's passkey with this id. Raises NotFound, also for another user's."""
    mine = Passkey.id == id, Passkey.user_id == user.id
    row: Passkey | None = db.session.scalar(select(Passkey).where(*mine)) if 0 < id <= MAX_ID else None
    if row is None:
        raise NotFound("passkey")
    return row


def usable_at(user: User, rp_id: str) -> list[Passkey]:
    """Those that a browser lets use at this host."""
    return [row for row in list_passkeys(user) if row.rp_id == rp_id]


# ------------------------------------------------------------------ adding
def registration_options(user: User, ceremony: Ceremony, handle: str) -> dict[str, Any]:
    known = usable_at(user, ceremony.rp_id)
    return passkey_ceremonies.registration_options(ceremony, user, handle, known)


def handle_of(user: User) -> str:
    """The random name under which authenticators store this account; a new one before the first passkey."""
    known = db.session.scalar(select(Passkey.user_handle).where(Passkey.user_id == user.id).limit(1))
    return known or passkey_ceremonies.new_handle()


def add(user: User, made: NewCredential, name: str, handle: str, drawn: NewCodes | None = None) -> Passkey:
    """Adds a verified passkey. The caller has begun the write, and commits.

    `handle`: under which the authenticator stored it. `drawn`: the recovery codes that come with the first
    second factor. Raises PasskeyRefused for a challenge that was answered before, and Invalid.
    """
    reread(db.session, user)  # locks it: of two at once, the second sees the first
    known = list_passkeys(user)
    if len(known) >= MAX_PASSKEYS:
        raise Invalid(FieldError(FULL, "too_many"))
    taken = db.session.scalar(
        select(Passkey.id).where(Passkey.credential_id == made.columns["credential_id"])
    )
    if taken is not None or any(row.last_challenge >= made.challenge for row in known):
        raise PasskeyRefused(passkey_ceremonies.REPLAYED)
    was_on = second_factor.is_on(user)
    row = Passkey(user_id=user.id, name=name, user_handle=handle, **made.columns)
    db.session.add(row)
    db.session.flush()
    if not was_on:
        record(db.session, "two_factor.enabled", account=user)
    record(db.session, "passkey.added", account=user, on=as_object(row))
    if drawn is not None:
        second_factor.store_codes(user, drawn)
    return row


def proposed_name(made: NewCredential, browser: str, system: str) -> str:
    """The authenticator's name, else the browser's with its system; "" where neither is known."""
    return NAMES.get(made.columns["aaguid"]) or ", ".join(filter(None, (browser, system)))[:MAX_NAME]


def as_object(row: Passkey) -> Object:
    return Object("passkey", row.id, row.name)


# ------------------------------------------------------------------- using
def authentication_options(ceremony: Ceremony, user: User | None = None) -> dict[str, Any]:
    allowed = usable_at(user, ceremony.rp_id) if user else ()
    return passkey_ceremonies.authentication_options(ceremony, allowed)


def find_sent(text: str, ceremony: Ceremony) -> Passkey:
    """The passkey that an answer names; nothing is verified yet. Raises PasskeyRefused."""
    sent = passkey_ceremonies.parse_assertion(text)
    mine = [Passkey.credential_id == sent.id, Passkey.rp_id == ceremony.rp_id]
    if ceremony.user_id:
        mine.append(Passkey.user_id == ceremony.user_id)
    row: Passkey | None = db.session.scalar(select(Passkey).where(*mine))
    if row is None:
        raise PasskeyRefused(passkey_ceremonies.UNKNOWN)
    return row


def use(text: str, row: Passkey, ceremony: Ceremony) -> None:
    """Verifies the answer of this passkey and notes its use. Begins a write, which the caller commits.

    Raises PasskeyRefused.
    """
    used = passkey_ceremonies.verify_assertion(passkey_ceremonies.parse_assertion(text), row, ceremony)
    begin_write(db.session)
    try:
        note_use(row, used)
    except PasskeyRefused:
        db.session.rollback()
        raise


def note_use(row: Passkey, used: Assertion) -> None:
    """Compare-and-swap of the challenge's moment: of the same answer sent twice at once, one is accepted.

    A sign count that does not grow means that there is a copy of the passkey. Synced passkeys do not count:
    theirs is always 0. Raises PasskeyRefused.
    """
    try:
        reread(db.session, row)
    except NotFound:
        raise PasskeyRefused(passkey_ceremonies.UNKNOWN) from None
    if row.last_challenge >= used.challenge:
        raise PasskeyRefused(passkey_ceremonies.REPLAYED)
    if used.sign_count <= row.sign_count and (used.sign_count or row.sign_count):
        raise PasskeyRefused(passkey_ceremonies.CLONED)
    values = {
        "sign_count": used.sign_count,
        "last_challenge": used.challenge,
        "is_backed_up": used.is_backed_up,
        "last_datetime": now(),
    }
    mine = Passkey.id == row.id, Passkey.last_challenge < used.challenge
    noted = update(Passkey).where(*mine).values(**values).returning(Passkey.id)
    if db.session.scalar(noted) is None:
        raise PasskeyRefused(passkey_ceremonies.REPLAYED)


# ---------------------------------------------------- renaming and removing
def rename(row: Passkey, name: str) -> None:
    """Gives it another name. Raises NotFound when it was removed meanwhile."""
    reread(db.session, row)
    if row.name != name:
        record(db.session, "passkey.renamed", account=row.user, on=as_object(row), name=[row.name, name])
    row.name = name
    db.session.flush()


def is_last_factor(row: Passkey, user: User) -> bool:
    """Whether the password alone signs in without this passkey."""
    return not second_factor.has_app(user) and [one.id for one in list_passkeys(user)] == [row.id]


def remove(row: Passkey, user: User) -> None:
    """Removes it; with the last second factor the recovery codes go. Raises NotFound."""
    reread(db.session, user)  # locks it: of two removals at once, the second sees that it is the last
    reread(db.session, row)
    record(db.session, "passkey.removed", account=user, on=as_object(row))
    db.session.delete(row)
    db.session.flush()
    if not second_factor.is_on(user):
        record(db.session, "two_factor.disabled", account=user)
        db.session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user.id))
        db.session.expire_all()
