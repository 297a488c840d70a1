"""API keys: their format, look-up, last use and revocation."""

# see docs/decisions/2026-11-20-last-use-of-a-key.md
from __future__ import annotations

import datetime as dt
import hashlib
import logging
import re
import secrets
import string
import time
import zlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import joinedload, make_transient_to_detached
from sqlalchemy.orm.attributes import set_committed_value

from app.accounts.access import MAX_ID, Access
from app.accounts.models import ApiKey, User, Workspace, WorkspaceMember
from app.audit.services import Object, record
from app.core import clock
from app.core.database import impatient
from app.core.errors import NotFound
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l

log = logging.getLogger(__name__)

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
SHAPE = re.compile(r"wp_(?P<random>[0-9A-Za-z]{30})(?P<checksum>[0-9A-Za-z]{6})", re.ASCII)
PREFIX_LENGTH = 11
SCOPES = {"write": _l("Read and write"), "read": _l("Read only"), "create": _l("Create links only")}

KEYS, USERS, WORKSPACES = ApiKey.__table__, User.__table__, Workspace.__table__
MEMBERS = WorkspaceMember.__table__
# built once, because every request to the API begins with it
# a key whose user is no member of its workspace any more is not found
BY_DIGEST = (
    select(*KEYS.c, *USERS.c, *WORKSPACES.c, MEMBERS.c.role)
    .join_from(KEYS, USERS)
    .join(WORKSPACES, WORKSPACES.c.id == KEYS.c.workspace_id)
    .join(MEMBERS, (MEMBERS.c.workspace_id == WORKSPACES.c.id) & (MEMBERS.c.user_id == USERS.c.id))
    .where(KEYS.c.digest == bindparam("digest"), WORKSPACES.c.deleted_datetime.is_(None))
)
MAX_MADE = 1000
_made: dict[str, tuple[Sequence[Any], ApiKey]] = {}

USE_SECONDS = 60
RETRY_SECONDS = 1.0
_tried: dict[str, float] = {}


def new_text() -> str:
    """`wp_`, 30 random characters (178 bits) and six of checksum."""
    random = "".join(secrets.choice(BASE62) for _ in range(30))
    return f"wp_{random}{checksum(random)}"


def checksum(random: str) -> str:
    """The CRC-32 of the random part in base 62, so that a mistyped key is refused without a look-up."""
    number, digits = zlib.crc32(random.encode("ascii")), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits


def is_whole(key: str) -> bool:
    """Whether this text has a key's format and a correct checksum."""
    match = SHAPE.fullmatch(key)
    return match is not None and match["checksum"] == checksum(match["random"])


def digest(key: str) -> str:
    return hashlib.sha256(key.encode("ascii")).hexdigest()


def create_key(
    access: Access,
    name: str,
    scope: str = "write",
    expires: dt.datetime | None = None,
    *,
    changes_members: bool = False,
) -> tuple[ApiKey, str]:
    """Creates a key of this user to this workspace. Does not commit.

    `changes_members`: it has the permission `members`, too.
    Its text is returned only here, since it is not stored.
    """
    key = new_text()
    row = ApiKey(**access.row_columns, name=name, scope=scope, changes_members=changes_members)
    row.prefix, row.digest = key[:PREFIX_LENGTH], digest(key)
    row.expires_datetime = expires
    db.session.add(row)
    db.session.flush()
    record(
        db.session,
        "api_key.created",
        account=access.user,
        workspace_id=access.workspace_id,
        on=object_of(row),
        scope=scope,
        changes_members=changes_members,
        key=row.prefix,
    )
    return row, key


def object_of(key: ApiKey) -> Object:
    return Object("api_key", key.id, key.name)


def find_key(key: str) -> ApiKey | None:
    """The key with this text, with its user; None unless the key and its user are both active.

    Its last use is stored. Both objects are read-only and belong to no session, because requests share them.
    """
    if not is_whole(key):
        return None
    found = read_key(digest(key))
    if found is None or state_of(found) != "active" or not found.user.is_active:
        return None
    note_use(found)
    return found


def read_key(digest: str) -> ApiKey | None:
    """The key as stored now. Its objects are cached, and rebuilt only when the rows have changed.

    The look-up is by digest over a unique index, so its duration says nothing about any other key.
    """
    row = db.session.connection().execute(BY_DIGEST, {"digest": digest}).first()
    if row is None:
        return None
    before, key = _made.get(digest, (None, None))
    if key is None or row != before:
        if len(_made) >= MAX_MADE:
            _made.clear()
        key = made_of(row)
        _made[digest] = row, key
    return key


def made_of(row: Sequence[Any]) -> ApiKey:
    """A key with its user and workspace as detached ORM objects, and the role, built from one row."""
    values = iter(row)
    key, user, workspace = (
        model(**dict(zip(table.c.keys(), values, strict=False)))
        for model, table in ((ApiKey, KEYS), (User, USERS), (Workspace, WORKSPACES))
    )
    for each in (key, user, workspace):
        make_transient_to_detached(each)
    set_committed_value(key, "user", user)
    set_committed_value(key, "workspace", workspace)
    key.role = row[-1]
    return key


def state_of(key: ApiKey) -> str:
    """`active`, `expired` or `revoked`."""
    if key.revoked_datetime is not None:
        return "revoked"
    expired = key.expires_datetime is not None and key.expires_datetime <= clock.now()
    return "expired" if expired else "active"


def note_use(key: ApiKey) -> None:
    """Writes `last_datetime`, at most once a minute, in a short transaction of its own.

    A request never waits long for it. If the database is busy or can't be written, this is logged, the stored
    time stays old, and the next use of the key tries again.
    """
    if key.last_datetime and clock.now() - key.last_datetime < dt.timedelta(seconds=USE_SECONDS):
        return
    now = time.monotonic()
    if now - _tried.get(key.digest, -RETRY_SECONDS) < RETRY_SECONDS:
        return  # another request has just done it, or failed to
    if len(_tried) >= MAX_MADE:
        _tried.clear()
    _tried[key.digest] = now
    try:
        write_use(key.id)
    except SQLAlchemyError as error:
        log.warning("the last use of API key %s… is not written yet: %s", key.prefix, error)


def write_use(key_id: int) -> None:
    """Runs the conditional update on a connection of its own, which gives up soon if the database is busy."""
    now = clock.now()
    due = or_(ApiKey.last_datetime.is_(None), ApiKey.last_datetime <= now - dt.timedelta(seconds=USE_SECONDS))
    with db.engine.connect() as connection, impatient(connection):
        connection.execute(update(ApiKey).where(ApiKey.id == key_id, due).values(last_datetime=now))
        connection.commit()


def revoke_key(key: ApiKey) -> None:
    """Revokes the key from now on; it stays in the list as a record."""
    if key.revoked_datetime is None:
        key.revoked_datetime = clock.now()
        record(
            db.session,
            "api_key.revoked",
            account=key.user,
            workspace_id=key.workspace_id,
            on=object_of(key),
            key=key.prefix,
        )
    db.session.flush()


def revoke_keys(user: User) -> int:
    """Revokes all active keys of the user; returns how many they were."""
    found = active_keys(user)
    for key in found:
        revoke_key(key)
    return len(found)


def active_keys(user: User) -> list[ApiKey]:
    return [key for key in list_keys(user) if state_of(key) == "active"]


def get_key(user: User, id: int) -> ApiKey:
    """One of the user's keys, of whichever workspace. Raises NotFound."""
    row = db.session.get(ApiKey, id) if id <= MAX_ID else None
    if row is None or row.user_id != user.id:
        raise NotFound("api key")
    return row


def list_keys(user: User | None = None) -> list[ApiKey]:
    """A user's keys, or those of all users, the newest first."""
    query = select(ApiKey).options(joinedload(ApiKey.user)).order_by(ApiKey.id.desc())
    return list(db.session.scalars(query if user is None else query.where(ApiKey.user_id == user.id)))


def unrevoked_like(prefix: str) -> list[ApiKey]:
    """Unrevoked keys that match: a whole key by its digest, any other text by its first 11 characters."""
    query = select(ApiKey).where(ApiKey.revoked_datetime.is_(None))
    if is_whole(prefix):
        return list(db.session.scalars(query.where(ApiKey.digest == digest(prefix))))
    return list(db.session.scalars(query.where(ApiKey.prefix == prefix[:PREFIX_LENGTH])))
