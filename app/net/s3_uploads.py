"""Uploads of objects whose size is not known before: in parts, complete at the end or not there at all."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self
from xml.sax.saxutils import escape

from app.net.s3 import PIECE_BYTES, Bucket, BucketError, ObjectMissing, parse_xml, read_time, texts_of

MAX_PARTS = 10_000  # of one object, by the rules of S3
# parts grow, so that 10,000 of them hold a terabyte, and a small object takes little memory
GROWTH_PARTS, MAX_PART_BYTES = 1000, 8 * PIECE_BYTES
ABANDONED = dt.timedelta(days=1)


class BucketUpload(io.RawIOBase):
    """What is written becomes one object at the end of the `with` block, unless it ends by an error.

    At most one part is in memory. An object of a single part is stored by a single request.
    """

    def __init__(self, bucket: Bucket, name: str) -> None:
        super().__init__()
        self.bucket, self.key = bucket, bucket.key(name)
        self.buffer = bytearray()
        self.upload_id = ""
        self.tags: list[str] = []
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.buffer += content
        while len(self.buffer) > (most := self.part_bytes()):
            self.send_part(bytes(memoryview(self.buffer)[:most]))
            del self.buffer[:most]
        self.size += len(content)
        return len(content)

    def part_bytes(self) -> int:
        return min(PIECE_BYTES << len(self.tags) // GROWTH_PARTS, MAX_PART_BYTES)

    def send_part(self, content: bytes) -> None:
        if not self.upload_id:
            answer = self.bucket.ask("POST", self.key, query={"uploads": ""})
            self.upload_id = parse_xml(answer).findtext("{*}UploadId") or ""
        if not self.upload_id or len(self.tags) >= MAX_PARTS:
            raise BucketError("too_large", "The bucket takes no more parts of this object.", 400)
        query = {"partNumber": str(len(self.tags) + 1), "uploadId": self.upload_id}
        tag = self.bucket.ask("PUT", self.key, query=query, body=content).header("etag")
        if not tag:
            raise BucketError("bad_answer", "The server's answer to a part has no ETag.", 502)
        self.tags.append(tag)

    def complete(self) -> None:
        """Makes the object visible."""
        if not self.upload_id:
            self.bucket.ask("PUT", self.key, body=bytes(self.buffer))
            return
        self.send_part(bytes(self.buffer))
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(tag)}</ETag></Part>"
            for number, tag in enumerate(self.tags, 1)
        )
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        try:
            answer = self.bucket.ask("POST", self.key, query={"uploadId": self.upload_id}, body=body)
        except ObjectMissing:
            if self.is_there():  # an earlier try was heard, and only its answer was lost
                return
            raise
        root = parse_xml(answer)
        if root.tag.endswith("Error"):  # the status was sent before the server knew
            raise BucketError(
                root.findtext("{*}Code") or "", root.findtext("{*}Message") or "", answer.status
            )

    def is_there(self) -> bool:
        name = self.key.removeprefix(self.bucket.prefix)
        return any(each.name == name and each.size == self.size for each in self.bucket.objects(name))

    def abort(self) -> None:
        if self.upload_id:
            abort_upload(self.bucket, self.key, self.upload_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.complete()
        except BaseException:
            self.abort_quietly()
            raise
        if kind is not None:
            self.abort_quietly()
        self.buffer.clear()

    def abort_quietly(self) -> None:
        """Aborts. Where the server does not take that, either, `abort_abandoned` does it a day later."""
        with contextlib.suppress(BucketError):
            self.abort()


def abort_upload(bucket: Bucket, key: str, upload_id: str) -> None:
    with contextlib.suppress(ObjectMissing):
        bucket.ask("DELETE", key, query={"uploadId": upload_id}, tries=1)


def abort_abandoned(bucket: Bucket, start: str, now: dt.datetime) -> int:
    """Aborts uploads of objects whose names begin with `start`, that killed processes left a day ago."""
    count = 0
    for key, upload_id, begun in unfinished(bucket, start):
        if begun < now - ABANDONED:
            abort_upload(bucket, key, upload_id)
            count += 1
    return count


def unfinished(bucket: Bucket, start: str) -> Iterator[tuple[str, str, dt.datetime]]:
    """Key, id and begin of uploads that are not complete: of the first thousand, which is plenty."""
    answer = bucket.ask("GET", "", query={"uploads": "", "prefix": bucket.key(start)})
    for each in parse_xml(answer).iterfind("{*}Upload"):
        key, upload_id, begun = texts_of(each, "Key", "UploadId", "Initiated")
        yield key, upload_id, read_time(begun)
