"""Pictures in a bucket, whose requests are few at once and short: one that is down holds up nothing."""

# see docs/decisions/2026-11-25-pictures-in-a-bucket.md
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from app.core.circuit_breaker import CircuitBreaker
from app.core.config import Settings
from app.core.errors import Busy, FieldError
from app.i18n.messages import lazy_gettext as _l
from app.net.s3 import Bucket, BucketError, ObjectMissing, account_of

SECONDS = 5.0
READS_AT_ONCE = 4  # of a process, so that most of its threads are left for everything else
WAIT_SECONDS = 2.0  # for one of these
MAX_BYTES = 16 * 1024 * 1024  # more than any picture
RETRY_SECONDS = 10
DOWN = _l("Pictures can't be stored or shown right now; try again in a moment.")


class PictureBucket:
    """The contents of pictures in a bucket. Raises Busy while it does not answer, at once."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.room = threading.BoundedSemaphore(READS_AT_ONCE)
        self.breaker = CircuitBreaker(
            "The bucket of pictures",
            bucket.check,
            BucketError,
            "pictures that are not on this disk are answered with 503",
        )

    def put(self, name: str, content: bytes) -> None:
        with self.request_slot():
            self.bucket.put(name, content, seconds=SECONDS, tries=1)

    def get(self, name: str) -> bytes:
        """The content of a picture. Raises FileNotFoundError where it is gone."""
        with self.request_slot():
            try:
                return self.bucket.get(name, MAX_BYTES, seconds=SECONDS, tries=1)
            except ObjectMissing as error:
                raise FileNotFoundError(name) from error

    def remove(self, name: str) -> None:
        with self.request_slot():
            self.bucket.remove(name)

    @contextmanager
    def request_slot(self) -> Iterator[None]:
        """One of the few requests at once. Raises Busy where none is free, or the bucket refuses."""
        busy = Busy(RETRY_SECONDS, FieldError(DOWN, "storage_busy"))
        if not self.breaker.admits() or not self.room.acquire(timeout=WAIT_SECONDS):
            raise busy
        try:
            yield
        except BucketError as error:
            self.breaker.trip(error)
            raise busy from error
        finally:
            self.room.release()


def open_picture_bucket(settings: Settings) -> PictureBucket | None:
    """The bucket of the settings; None where pictures are in the database or in files."""
    if settings.media_url is None:
        return None
    return PictureBucket(Bucket(account_of(settings), settings.media_url))
