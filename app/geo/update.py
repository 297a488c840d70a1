"""Updates the geolocation file: downloads a newer one, unpacks it, reads it through, and swaps it in."""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import json
import os
import secrets
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from app.core.errors import FieldError, WaypostError
from app.geo.lookup import GeoDatabase, Status, stamp_of
from app.geo.validate import UnreadableGeoFile, read_through
from app.net import http as net_http
from app.net.networks import Network

# https://db-ip.com/db/download/ip-to-city-lite: monthly, free under CC BY 4.0 with a link to DB-IP
FREE = "https://download.db-ip.com/free/dbip-city-lite-{month:%Y-%m}.mmdb.gz"
PUBLISHER = "DBIP"
LARGEST = 2 * 1024**3  # unpacked; the free one has about 130 MB
HOPS = 5
A_WEEK = dt.timedelta(days=7)


class NotUpdated(WaypostError):
    """The update has failed. The old file, where there was one, is untouched."""

    def __init__(self, reason: str) -> None:
        super().__init__(FieldError(reason, "geo"))


def update(path: Path, url: str | None, *, today: dt.date, allowed: Sequence[Network] = ()) -> Status:
    """Downloads the file at `url`, else the newest free one, to `path`. Raises NotUpdated or OSError.

    `url` comes from the operator, so it may be in any network; what it redirects to may not.
    """
    if url is None:
        require_free(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with drafts(path) as (packed, plain):
        fetch(packed, url, today, allowed)
        unpack(packed, plain)
        require_readable(plain)
        with plain.open("rb") as file:
            os.fsync(file.fileno())
        plain.replace(path)
    sign(path, url)
    return GeoDatabase(path).status


class Source(NamedTuple):
    """Where a downloaded file came from. `url` is None for the publisher of the free one."""

    url: str | None


def signature(path: Path) -> Path:
    return path.with_name(f".{path.name}.fetched")


def sign(path: Path, url: str | None) -> None:
    """Records beside the file that it was downloaded, so that it may be replaced, and where it came from."""
    draft = signature(path).with_suffix(".draft")
    draft.write_text(json.dumps({"url": url, "stamp": stamp_of(path)}))
    draft.replace(signature(path))


def stale_source(path: Path, now: dt.datetime) -> Source | None:
    """Where the file came from, if it was downloaded a week ago or longer.

    None for one that was not downloaded by Waypost, or that was replaced by other means since.
    """
    try:
        said = json.loads(signature(path).read_text())
        fetched = dt.datetime.fromtimestamp(signature(path).stat().st_mtime, dt.UTC)
    except (OSError, ValueError):
        return None
    is_ours = said["stamp"] == list(stamp_of(path) or ())
    # an hour less than a week: the job runs at the same time each day
    return Source(said["url"]) if is_ours and now - fetched >= A_WEEK - dt.timedelta(hours=1) else None


def require_free(path: Path) -> None:
    """Raises NotUpdated for another publisher's file, perhaps a paid one that another tool updates."""
    kind = GeoDatabase(path).status.kind
    if kind and not kind.startswith(PUBLISHER):
        raise NotUpdated(
            f"{path} is a file of another publisher ({kind}). Say by --url what is to replace it."
        )


@contextlib.contextmanager
def drafts(path: Path) -> Iterator[tuple[Path, Path]]:
    """Two names beside `path`, so that the last step is a rename. Files under them are removed at the end."""
    name = f".{path.name}.{secrets.token_hex(8)}"
    found = path.with_name(f"{name}.packed"), path.with_name(f"{name}.plain")
    try:
        yield found
    finally:
        for draft in found:
            draft.unlink(missing_ok=True)


def fetch(packed: Path, url: str | None, today: dt.date, allowed: Sequence[Network]) -> None:
    if url is not None:
        return require_found(url, download(url, packed, net_http.EVERYWHERE, allowed))
    this_month, last_month = free_urls(today)
    status = download(this_month, packed, allowed, allowed)
    if status == 404:  # in the first days of a month it is not out yet
        return require_found(last_month, download(last_month, packed, allowed, allowed))
    return require_found(this_month, status)


def free_urls(today: dt.date) -> tuple[str, str]:
    """The addresses of this month's file and of last month's."""
    month = today.replace(day=1)
    return FREE.format(month=month), FREE.format(month=month - dt.timedelta(days=1))


def require_found(url: str, status: int) -> None:
    if status != 200:
        raise NotUpdated(f"{url} answered {status}.")


def download(url: str, packed: Path, allowed: Sequence[Network], elsewhere: Sequence[Network]) -> int:
    """The status of the last response. Redirects are followed, each checked as a new outbound address."""
    for _ in range(HOPS):
        try:
            with packed.open("wb") as file:
                answer = net_http.download(url, file, allowed=allowed)
            target = net_http.redirect_target(url, answer)
        except net_http.NoAnswer as error:
            raise NotUpdated(f"{url}: {error.reason}") from error
        if target is None:
            return answer.status
        url, allowed = target, elsewhere
    raise NotUpdated(f"More than {HOPS} redirects.")


def unpack(packed: Path, plain: Path) -> None:
    """Unpacks a gzip file, and copies any other. Its first bytes decide, for its name says nothing."""
    with packed.open("rb") as source, plain.open("wb") as target:
        is_gzip = source.read(2) == b"\x1f\x8b"
        source.seek(0)
        try:
            copy(gzip.GzipFile(fileobj=source) if is_gzip else source, target)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise NotUpdated("What was downloaded is damaged: it can't be unpacked.") from error


def copy(source: BinaryIO | gzip.GzipFile, target: BinaryIO) -> None:
    while chunk := source.read(1024 * 1024):
        if target.tell() + len(chunk) > LARGEST:
            raise NotUpdated("What was downloaded is too large.")
        target.write(chunk)


def require_readable(path: Path) -> None:
    try:
        read_through(path)
    except UnreadableGeoFile as error:
        raise NotUpdated(f"What was downloaded is not a file of places that can be read: {error}.") from error
