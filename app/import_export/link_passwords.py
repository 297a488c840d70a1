"""Moves passwords of links between instances: as argon2id hashes, or as a mark that a link had one.

A mark does not contain the password. A link that had one and comes without its hash is created switched off,
because it would be open to everyone. See docs/decisions/2026-11-22-passwords-in-exports.md.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import NamedTuple

from app.i18n.messages import lazy_gettext as _l
from app.import_export.columns import COLUMNS, normalize_heading
from app.import_export.row_pictures import DATA_FIELDS
from app.import_export.value_parsers import Read
from app.input.parsers import Rejected, parse_integer

# An owner chooses the hash, and every visitor's attempt computes it, so its cost must be limited. The second
# set that RFC 9106 recommends (64 MiB, 3 passes, 4 lanes) is within; Waypost's own hashes are far below
MAX_MEMORY_KIB = 64 * 1024
MAX_PASSES = 4
MAX_LANES = 4
MIN_KIB_PER_LANE = 8  # argon2 refuses less, so that no password would open the link
SALT_BYTES = range(8, 65)
HASH_BYTES = range(16, 65)
MAX_VERSION = 2**30
HASH = re.compile(
    r"\$argon2id\$v=19\$m=([1-9][0-9]{0,9}),t=([1-9][0-9]{0,9}),p=([1-9][0-9]{0,9})"
    r"\$([A-Za-z0-9+/]{1,100})\$([A-Za-z0-9+/]{1,100})"
)
NO = frozenset({"", "0", "false", "no", "null"})

# replaces a hash, or a plain password, wherever a row is stored or shown
HIDDEN = "********"
PLAIN_MARKS = NO | {"1", "true", "yes"}
FIELDS = ("password_hash", "has_password")
NOT_STORED = ("handler_settings", *DATA_FIELDS.values())
HEADINGS, NOT_STORED_HEADINGS = (
    frozenset(normalize_heading(heading) for name in fields for heading in COLUMNS[name].headings)
    for fields in (FIELDS, NOT_STORED)
)
ANY_HASH = "$argon2"

NO_HASH = _l("This is not an argon2id hash as exported by Waypost. Remove it, and set a password afterwards.")
COSTLY = _l(
    "Checking this hash would take too much memory or time. Remove it, and set a password afterwards."
)
SWITCHED_OFF = _l("It had a password that this file does not hold. It is off: set one, then turn it on.")


def read_hash(text: str) -> str:
    """The hash, if it is well-formed and cheap enough to check. Raises Rejected."""
    match = HASH.fullmatch(text)
    if match is None or not (has_length(match[4], SALT_BYTES) and has_length(match[5], HASH_BYTES)):
        raise Rejected(NO_HASH, "format")
    memory, passes, lanes = (int(match[number]) for number in (1, 2, 3))
    if memory > MAX_MEMORY_KIB or passes > MAX_PASSES or lanes > MAX_LANES:
        raise Rejected(COSTLY, "range")
    if memory < MIN_KIB_PER_LANE * lanes:
        raise Rejected(NO_HASH, "format")
    return text


def has_length(text: str, lengths: range) -> bool:
    """Whether `text` is canonical unpadded base64, as argon2 requires, of a length in `lengths` (bytes)."""
    try:
        octets = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return False
    return len(octets) in lengths and base64.b64encode(octets).decode().rstrip("=") == text


def read_version(text: str) -> int:
    return parse_integer(text, 0, MAX_VERSION)


def had_password(text: str) -> bool:
    """Whether a cell says that there was a password. Unknown words count as yes, to keep the link closed."""
    return text.strip().lower() not in NO


def password_changes(hashed: str | None, version: int | None, *, is_marked: bool) -> dict[str, object]:
    """What a row's columns about the password change of its link."""
    if hashed is None:
        found: dict[str, object] = {"is_enabled": False} if is_marked else {}
    else:
        found = {"password_hash": hashed, "password_version": 1}
    return found if version is None else {**found, "password_version": version}


class ReadPassword(NamedTuple):
    """What a row's columns about the password change of its link, and what its owner must know."""

    changes: dict[str, object]
    notices: list[list[str]]


def read_password(read: Read, texts: Mapping[str, str]) -> ReadPassword:
    is_hidden = texts.get("password_hash") == HIDDEN
    hashed = None if is_hidden else read("password_hash", read_hash)
    is_marked = is_hidden or read("has_password", had_password, False)
    changes = password_changes(hashed, read("password_version", read_version), is_marked=is_marked)
    return ReadPassword(changes, [["has_password", SWITCHED_OFF]] if is_marked and hashed is None else [])


def hide_secrets(cells: Mapping[str, str], columns: Mapping[str, str]) -> dict[str, str]:
    """The cells of a row as they may be stored: without hashes, and without passwords from other services.

    `columns`: field → column. The replacement shows that there was a password. The settings of handlers and
    the data of pictures, which are megabytes, are left out without one.
    """
    # by heading also columns that are not read, or that only later rows have
    headings = {name: normalize_heading(name) for name in cells}
    chosen = {column: field for field, column in columns.items()}
    secret = {name for name in cells if headings[name] in HEADINGS or chosen.get(name) in FIELDS}
    return {
        name: HIDDEN if is_secret(text, is_field=name in secret) else text
        for name, text in cells.items()
        if headings[name] not in NOT_STORED_HEADINGS and chosen.get(name) not in NOT_STORED
    }


def is_secret(text: str, *, is_field: bool) -> bool:
    return ANY_HASH in text or (is_field and text.strip().lower() not in PLAIN_MARKS)
