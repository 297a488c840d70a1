"""Daily salt for visitor hashes.

Visitors are told apart by a keyed hash. Its key lasts for one UTC day, so that hashes of different days can't
be linked. The key is in a file of its own, in no backup. Where several machines serve one database,
`shared_salt` gives all of them the same.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import secrets
from binascii import b2a_base64
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from app.core.durable_files import MARK, create_file
from app.core.error_boundary import ErrorBoundary

KEY_BYTES = 32
HASH_BYTES, HASH_CHARACTERS = 8, 11
GRACE = dt.timedelta(hours=1)  # for requests that were under way at midnight
URL_SAFE = bytes.maketrans(b"+/", b"-_")

errors = ErrorBoundary("visitors' keys")


def day_key(data_dir: Path, day: dt.date) -> bytes:
    """The key of a UTC day, the same in all processes: the first process that needs it creates it.

    Raises OSError if it can be neither read nor stored, as on a full disk.
    """
    return stored_key(directory_of(data_dir) / day.isoformat())


def sweep_keys(data_dir: Path, now: dt.datetime) -> list[dt.date]:
    """Delete the keys of days that ended an hour ago or more, and drafts of killed processes.

    Returns the days of the deleted files.
    """
    today = (now.astimezone(dt.UTC) - GRACE).date()
    over = []
    for path in directory_of(data_dir).iterdir():
        with contextlib.suppress(ValueError):  # not named after a day: not ours to delete
            if (day := dt.date.fromisoformat(path.name.lstrip(".").partition(MARK)[0])) < today:
                errors.run(path.name, path.unlink, missing_ok=True)
                over.append(day)
    return over


def visitor_hash(key: bytes, address: str, agent: bytes, owner_id: int) -> str:
    """11 characters that identify a visitor among one owner's links. `agent`: the user agent in UTF-8."""
    hashed = keyed(key).copy()
    hashed.update(f"{owner_id}\0{address}\0".encode("utf-8", "surrogatepass") + agent)
    return b2a_base64(hashed.digest())[:HASH_CHARACTERS].translate(URL_SAFE).decode("ascii")


@lru_cache(maxsize=1)  # the key of one day at a time
def keyed(key: bytes) -> blake2b:
    """The hash that has taken up the key already: copying it takes half the time of making it."""
    return blake2b(key=key, digest_size=HASH_BYTES)


def directory_of(data_dir: Path) -> Path:
    directory = data_dir / "keys"
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def stored_key(path: Path) -> bytes:
    """The key in a file, created if missing. The file is complete before it gets its name; never replaced."""
    with contextlib.suppress(FileNotFoundError):
        return read(path)
    create_file(path, secrets.token_bytes(KEY_BYTES))
    return read(path)


def read(path: Path) -> bytes:
    key = path.read_bytes()
    if len(key) != KEY_BYTES:  # with an empty key anybody could compute the hashes
        raise OSError(f"{path} holds no key")
    return key
