"""Pictures of a row: in the row itself as data URLs (RFC 2397), or members of the ZIP that the table came in.

A picture in a row may be hostile. Its length is limited before it is decoded; then it is an upload like any
other, which the form has a helper process write anew. See docs/decisions/2026-11-23-whole-links-in-json.md.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from app.i18n.messages import lazy_gettext as _l
from app.import_export.archive_reader import MAX_PICTURE_BYTES, ArchiveReader, oversize
from app.import_export.value_parsers import Read
from app.input.data import Upload
from app.input.parsers import Rejected
from app.links import uploads
from app.links.history import PICTURES
from app.web.media import TYPES

# the field with the picture itself, by the field with its name
DATA_FIELDS: Mapping[str, str] = MappingProxyType({name: f"{name}_data" for name in PICTURES})
FOLDER = "pictures"  # of the ZIP; other files only contain the names in it
DATA_URL = re.compile(r"data:image/[a-z0-9.+-]{1,40};base64,", re.ASCII | re.IGNORECASE)
MAX_BASE64 = 4 * (MAX_PICTURE_BYTES // 3 + 1)

NO_DATA_URL = _l("This must be a picture as a data URL: data:image/png;base64,…")
NO_BASE64 = _l("This picture is damaged: its base64 can't be read.")
NO_PICTURE = _l("This file does not contain its picture. Waypost's JSON and its file of everything do.")


class ReadPictures(NamedTuple):
    """Pictures of a row by field, as uploads, and what its owner must know about them."""

    uploads: dict[str, Upload]
    notices: list[list[str]]


def read_pictures(read: Read, texts: Mapping[str, str], archive: ArchiveReader | None) -> ReadPictures:
    found: dict[str, Upload | None] = {}
    notices = []
    for name, data in DATA_FIELDS.items():
        if data in texts:
            found[name] = read(data, read_data_url)
        elif archive is not None:
            found[name] = read(name, archive.picture)
        elif name in texts:
            notices.append([name, NO_PICTURE])
    return ReadPictures({name: upload for name, upload in found.items() if upload}, notices)


def read_data_url(text: str) -> Upload:
    """The picture like an upload, not validated yet. Raises Rejected."""
    match = DATA_URL.match(text)
    if match is None or match.end() == len(text):
        raise Rejected(NO_DATA_URL, "format")
    if len(text) - match.end() > MAX_BASE64:
        return oversize("")
    try:
        return Upload("", base64.b64decode(text[match.end() :], validate=True))
    except ValueError:
        raise Rejected(NO_BASE64, "format") from None


def with_pictures(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of an export, with its pictures in it."""
    named = {data: row[name] for name, data in DATA_FIELDS.items() if row[name]}
    return {**row, **{data: data_url(text.removeprefix(f"{FOLDER}/")) for data, text in named.items()}}


def data_url(name: str) -> str | None:
    """A stored picture as a data URL; None if it was replaced meanwhile, or no import would take it."""
    path = uploads.path_of(name)
    try:
        if path.stat().st_size > MAX_PICTURE_BYTES:  # stored before re-encoded pictures had a limit
            return None
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    return f"data:{TYPES[path.suffix[1:]]};base64,{base64.b64encode(content).decode()}"
