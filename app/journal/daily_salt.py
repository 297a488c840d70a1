"""By what may one day's visitor be told from another, and never be known again the day after?

By a hash under a key that lives for one UTC day in a file of its own: in no database (where a deleted row
lives on in free pages) and in no backup.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import secrets
from base64 import urlsafe_b64encode
from hashlib import blake2b
from pathlib import Path

from app.error_boundary import ErrorBoundary

KEY_BYTES = 32
HASH_BYTES = 8
GRACE = dt.timedelta(hours=1)  # for what was under way at midnight

errors = ErrorBoundary("visitors' keys")
_cached: dict[tuple[Path, dt.date], bytes] = {}


def day_key(data_dir: Path, day: dt.date) -> bytes:
    """The key of a UTC day, the same in all processes: the first that asks makes it.

    Raises OSError where it can be neither read nor stored, as on a full disk.
    """
    key = _cached.get((data_dir, day))
    if key is None:
        for late in [each for each in list(_cached) if each[1] < day - dt.timedelta(days=1)]:
            _cached.pop(late, None)
        key = _cached[data_dir, day] = stored_key(directory_of(data_dir) / day.isoformat())
    return key


def sweep_keys(data_dir: Path, now: dt.datetime) -> list[dt.date]:
    """Delete the keys of days that ended an hour ago or more (and what a killed process left); which days."""
    today = (now.astimezone(dt.UTC) - GRACE).date()
    over = []
    for path in directory_of(data_dir).iterdir():
        with contextlib.suppress(ValueError):  # no day's name: not ours to delete
            if (day := dt.date.fromisoformat(path.name.lstrip(".").partition("~")[0])) < today:
                _cached.pop((data_dir, day), None)
                errors.run(path.name, path.unlink, missing_ok=True)
                over.append(day)
    return over


def visitor_hash(key: bytes, address: str, agent: str, owner_id: int) -> str:
    """11 characters that stand for a visitor among one owner's links. The agent counts as it was sent."""
    said = f"{owner_id}\0{address}\0{agent}".encode("utf-8", "surrogatepass")
    digest = blake2b(said, key=key, digest_size=HASH_BYTES).digest()
    return urlsafe_b64encode(digest)[:-1].decode("ascii")


def directory_of(data_dir: Path) -> Path:
    directory = data_dir / "keys"
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def stored_key(path: Path) -> bytes:
    """The key in a file, made now if it is not there: whole before it has its name, and never replaced."""
    with contextlib.suppress(FileNotFoundError):
        return read(path)
    draft = path.with_name(f".{path.name}~{secrets.token_hex(8)}")
    draft.touch(mode=0o600, exist_ok=False)
    try:
        with draft.open("wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):  # another process was first: its key is the day's
            os.link(draft, path)
    finally:
        draft.unlink()
    return read(path)


def read(path: Path) -> bytes:
    key = path.read_bytes()
    if len(key) != KEY_BYTES:  # an empty one would be a hash that anybody can make
        raise OSError(f"{path} holds no key")
    return key
