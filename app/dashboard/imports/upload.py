"""Streams an uploaded file to disk, after a check of the CSRF token.

The file may be larger than memory, so it goes to disk piece by piece. The session's token comes before it,
in a header or as the form's first field: without one nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from flask import request
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge
from werkzeug.sansio.multipart import Data, Field, File

from app.core.errors import FieldError, TooLarge
from app.dashboard.auth.access import TOKEN_HEADER, require_token, submitted_form, token_of
from app.i18n.messages import lazy_gettext as _l
from app.import_export.files import require_room
from app.input.data import RequestData
from app.web import multipart
from app.web.body import has_control, keep_sent, malformed

MAX_BYTES = 1024 * 1024 * 1024
MAX_AROUND = 1024 * 1024  # headers of the parts, and fields beside the file
MAX_FIELD = 10_000
PIECE = 256 * 1024
LOOKED_AFTER = 64 * 1024 * 1024  # bytes after which the free disk space is checked again


def receive(path: Path, name: str = "file") -> str | None:
    """Write the file of this field to `path`, readable by us alone. Returns the file's own name.

    None where none was sent. After an error nothing stays behind.
    """
    if request.mimetype != "multipart/form-data":
        require_token(token_of(submitted_form()))
        return None
    try:
        path.touch(mode=0o600, exist_ok=False)
        with path.open("wb") as out:
            found = Receiving(out, name).run()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    if found is None:
        path.unlink()
    return found


class Receiving:
    """Reads one multipart body. `fields`: the form fields beside the file."""

    def __init__(self, out: BinaryIO, name: str) -> None:
        self.out, self.name = out, name
        self.filename: str | None = None
        self.fields: list[tuple[str, str]] = []
        self.is_known = False
        self.written = self.around = 0

    def run(self) -> str | None:
        require_fit()
        if TOKEN_HEADER in request.headers:
            self.know(request.headers[TOKEN_HEADER])
        try:
            for event in multipart.streamed(pieces(), request.mimetype_params.get("boundary", "")):
                if isinstance(event, Field | File):
                    self.begin(event)
                elif isinstance(event, Data):
                    self.take(event.data)
        except ValueError as error:
            raise malformed(f"The multipart body is broken: {error}.") from None
        self.know_or_refuse()
        keep_sent(RequestData(self.fields))
        return self.filename

    def begin(self, head: Field | File) -> None:
        self.is_file = isinstance(head, File) and head.name == self.name
        if has_control(head.name):
            raise malformed(_l("A field has a control character in its name."))
        if isinstance(head, File):
            self.know_or_refuse()
            if self.is_file and head.filename:
                self.filename = head.filename
        else:
            self.fields.append((head.name, ""))
        self.is_field = isinstance(head, Field)

    def take(self, data: bytes) -> None:
        if self.is_file:
            self.written += len(data)
            if self.written > MAX_BYTES:
                raise too_large()
            if self.written % LOOKED_AFTER < len(data):  # a body in chunks didn't say how long it is
                require_room(self.out.fileno())
            self.out.write(data)
        elif self.is_field:
            name, text = self.fields[-1]
            self.fields[-1] = name, text + data.decode()
            self.around += len(data)
            if self.around > MAX_FIELD:
                raise too_large()

    def know_or_refuse(self) -> None:
        if not self.is_known:
            self.know(dict(self.fields).get("csrf_token"))

    def know(self, token: str | None) -> None:
        """Raises Forbidden for anything but the session's token."""
        require_token(token)
        self.is_known = True


def require_fit() -> None:
    """Refuse a body whose `Content-Length` is too large, before anything is read."""
    if (request.content_length or 0) > MAX_BYTES + MAX_AROUND:
        raise too_large()


def too_large() -> TooLarge:
    return TooLarge(
        FieldError(_l("A file may have at most %(most)s GiB.", most=MAX_BYTES >> 30), "too_large", "file")
    )


def pieces() -> Iterator[bytes]:
    """The request body in pieces."""
    request.max_content_length = MAX_BYTES + MAX_AROUND
    try:
        while piece := request.stream.read(PIECE):
            yield piece
    except RequestEntityTooLarge:
        raise too_large() from None
    except (ClientDisconnected, OSError):
        raise malformed("The body ended early.") from None
