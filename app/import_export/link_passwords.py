"""Moves passwords of links between instances: as argon2id hashes, or as a mark that a link had one.

Nobody can make a password of a mark. A link that had one and comes without its hash is made switched off, for
it would be open to everybody. See docs/decisions/2026-11-22-passwords-in-exports.md.
"""

from __future__ import annotations

import base64
import binascii
import re

from app.reading import Rejected, whole

# An owner chooses the hash, and every visitor's try computes it: its cost must be bounded. The second set
# that RFC 9106 recommends (64 MiB, 3 passes, 4 lanes) is within; what Waypost makes itself is far below
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

NO_HASH = "This is no argon2id hash as an export of Waypost has it. Remove it, and set a password afterwards."
COSTLY = "Checking this hash would take too much memory or time. Remove it, and set a password afterwards."
SWITCHED_OFF = "It had a password that this file does not hold. It is off: set one, then switch it on."


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
    """Whether `text` is unpadded base64, written the one way that argon2 reads, of that many bytes."""
    try:
        octets = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return False
    return len(octets) in lengths and base64.b64encode(octets).decode().rstrip("=") == text


def read_version(text: str) -> int:
    return whole(text, 0, MAX_VERSION)


def had_password(text: str) -> bool:
    """Whether a cell says so. A word that is not known does: the link must not be open."""
    return text.strip().lower() not in NO


def password_changes(hashed: str | None, version: int | None, *, is_marked: bool) -> dict[str, object]:
    """What a row's columns about the password change of its link."""
    if hashed is None:
        found: dict[str, object] = {"is_enabled": False} if is_marked else {}
    else:
        found = {"password_hash": hashed, "password_version": 1}
    return found if version is None else {**found, "password_version": version}
