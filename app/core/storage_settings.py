"""Settings that say where data and backups go, and when backups are made: their parsers, and what can't be
used together.

As in `setting_values`: each parser takes the text of a setting and returns its value, or raises ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from croniter import croniter
from sqlalchemy import make_url

from app.core import setting_values as values
from app.core.setting_values import PREFIX, folder_path

MIN_PASSPHRASE = 12
NEVER, ALL = "never", "all"
S3 = "s3://"
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
# no character that is encoded in an address: then there are no two ways to sign it
OBJECT_PREFIX = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*/?)*", re.ASCII)
TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
KEPT = re.compile(r"(\d{1,4})([dwm])", re.ASCII)


@dataclass(frozen=True)
class Retention:
    """How many days, weeks and months keep their newest backup. `is_all`: nothing is removed."""

    days: int = 0
    weeks: int = 0
    months: int = 0
    is_all: bool = False

    def __str__(self) -> str:
        counts = {"d": self.days, "w": self.weeks, "m": self.months}
        return ALL if self.is_all else " ".join(f"{count}{unit}" for unit, count in counts.items() if count)


def bucket_address(text: str) -> str:
    """`s3://bucket` or `s3://bucket/prefix`, without a slash at the end."""
    parts = urlsplit(text)
    prefix = parts.path.strip("/")
    is_right = text.startswith(S3) and not parts.query and not parts.fragment
    if not (is_right and BUCKET.fullmatch(parts.netloc) and OBJECT_PREFIX.fullmatch(prefix)):
        raise ValueError("must be like s3://bucket/prefix: letters, digits, dots, hyphens and slashes")
    return f"{S3}{parts.netloc}" + (f"/{prefix}" if prefix else "")


def backup_target(text: str) -> str:
    """A folder, as a path or `file:///path`, or a bucket. Returns a whole path, or `s3://…`."""
    if text.startswith(S3):
        return bucket_address(text)
    if text.startswith("file:"):
        parts = urlsplit(text)
        if parts.netloc or not parts.path.startswith("/"):
            raise ValueError("must be like file:///var/backups/waypost")
        return str(folder_path(parts.path))
    if "://" in text:
        raise ValueError("must be a folder or an address like s3://bucket/prefix")
    return str(folder_path(text))


def schedule(text: str) -> str:
    """A time of day, as `03:15`, or the five fields of cron; in UTC. `never` returns "", else a cron text."""
    if text == NEVER:
        return ""
    if found := TIME.fullmatch(text):
        return f"{int(found[2])} {int(found[1])} * * *"
    fields = text.split()
    if len(fields) != 5 or len(text) > 64 or not croniter.is_valid(text):
        raise ValueError("must be a time of day like 03:15, five fields like in cron, or never")
    return " ".join(fields)


def retention(text: str) -> Retention:
    """`7d 4w 6m`: the newest backup of each of the last 7 days, 4 weeks and 6 months that have any."""
    if text.strip() == ALL:
        return Retention(is_all=True)
    found = [KEPT.fullmatch(part) for part in text.replace(",", " ").split()]
    counts = {match[2]: int(match[1]) for match in found if match}
    if not all(found) or len(counts) != len(found) or not sum(counts.values()):
        raise ValueError("must be like 7d 4w 6m (days, weeks, months), or all")
    return Retention(counts.get("d", 0), counts.get("w", 0), counts.get("m", 0))


def passphrase(text: str) -> str:
    if len(text) < MIN_PASSPHRASE:
        raise ValueError(f"must have {MIN_PASSPHRASE} characters or more")
    return text


Conflict = tuple[str, str]  # the setting's name, and what is wrong with it


class StorageSettings(Protocol):
    """The settings (`app.core.config.Settings`) of backups and buckets."""

    @property
    def is_sqlite(self) -> bool: ...
    @property
    def backup_to(self) -> str | None: ...
    @property
    def s3_access_key_id(self) -> str | None: ...
    @property
    def s3_secret_access_key(self) -> str | None: ...


def find_storage_conflicts(settings: StorageSettings) -> Iterator[Conflict]:
    """A bucket without the keys to it, and half a pair of keys."""
    keys = {
        "S3_ACCESS_KEY_ID": settings.s3_access_key_id,
        "S3_SECRET_ACCESS_KEY": settings.s3_secret_access_key,
    }
    has_bucket = (settings.backup_to or "").startswith(S3)
    for name, key in keys.items():
        if not key and (has_bucket or any(keys.values())):
            used = f"{PREFIX}BACKUP_TO names a bucket" if has_bucket else "the other one of the pair is"
            yield name, f"must be set where {used}"


class Addresses(StorageSettings, Protocol):
    """The settings (`app.core.config.Settings`) that say where data is."""

    @property
    def data_dir(self) -> Path: ...
    @property
    def database_url(self) -> str: ...
    @property
    def clicks_url(self) -> str | None: ...
    @property
    def clickhouse_url(self) -> str | None: ...


def find_conflicts(settings: Addresses) -> Iterator[Conflict]:
    """Every setting that does not fit the others."""
    yield from split_databases(settings)
    yield from missing_folders(settings)
    yield from find_storage_conflicts(settings)


def split_databases(settings: Addresses) -> Iterator[Conflict]:
    """Clicks that are not in a second SQLite file, in the same PostgreSQL database or in a ClickHouse.

    Pages read those of SQL on the connection on which they read everything else.
    """
    clicks = settings.clicks_url
    is_beside = settings.is_sqlite and (clicks or "sqlite").startswith("sqlite")
    if is_beside and clicks == settings.database_url:
        yield "CLICKS_URL", "must be another file than the database's"
    if not is_beside and clicks not in {None, settings.database_url}:
        there = "must be a SQLite file where the database is one, or a ClickHouse, and else not be set"
        yield "CLICKS_URL", there


def missing_folders(settings: Addresses) -> Iterator[Conflict]:
    """SQLite files whose folder is missing: SQLite makes the file alone. (DATA_DIR is made by a command.)"""
    for name, url in (("DATABASE_URL", settings.database_url), ("CLICKS_URL", settings.clicks_url)):
        if url and url.startswith(values.SQLITE):
            folder = Path(make_url(url).database or "").parent
            if folder != settings.data_dir and not folder.is_dir():
                yield name, f"the folder {folder} does not exist"
