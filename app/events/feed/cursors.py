"""Cursors: places in the feed, as opaque text that readers keep.

A cursor names the first place that is not read yet: a position, and how far its entry is read where that
holds clicks. A checksum makes one that was cut or mixed up unknown: it would skip or repeat events otherwise.
"""

from __future__ import annotations

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from hashlib import blake2b
from typing import NamedTuple

from app.core.errors import FieldError, Gone
from app.i18n.messages import lazy_gettext as _l

MAX_LENGTH = 64
FORM = struct.Struct(">BQQQ")
VERSION = 1
CHECK_BYTES = 4


class CursorGone(Gone):
    """No event follows this cursor for sure: it is unknown, of another workspace, or too old.

    `oldest`: the cursor of the oldest event that is kept.
    """

    def __init__(self, oldest: str) -> None:
        text = _l(
            "There is no such cursor, or what came after it is kept no more. Go on with the oldest one."
        )
        super().__init__({"oldest": oldest}, FieldError(text, "cursor_gone", "after"))
        self.oldest = oldest


class Cursor(NamedTuple):
    """A place in the feed of a workspace."""

    workspace_id: int
    position: int
    offset: int = 0

    def __str__(self) -> str:
        data = FORM.pack(VERSION, *self)
        return urlsafe_b64encode(data + checksum(data)).decode().rstrip("=")


def read_cursor(text: str) -> Cursor | None:
    """The cursor of a text; None for a text that no cursor has."""
    try:
        data = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        version, *place = FORM.unpack(data[:-CHECK_BYTES])
    except (ValueError, Error, struct.error):
        return None
    cursor = Cursor(*place)
    return cursor if version == VERSION and str(cursor) == text else None


def checksum(data: bytes) -> bytes:
    return blake2b(data, digest_size=CHECK_BYTES).digest()
