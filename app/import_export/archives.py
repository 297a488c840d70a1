"""Archives: a ZIP of everything that an account has, one an account, kept for a day.

A row stores the progress. The worker has the file made by another process (`run`), and removes old files and
files without a row. The ZIP is written in pieces, so that it is never in memory whole.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import secrets
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from app.accounts.access import Access, may
from app.accounts.models import ApiKey, Passkey, User, UserSession
from app.accounts.oidc.models import OidcIdentity
from app.accounts.workspaces import access_of
from app.analytics import export, statistics
from app.analytics.dimensions import TYPES
from app.analytics.readers import first_moment, reader_of
from app.analytics.sharing.models import StatisticsShare
from app.analytics.statistics import StatisticsQuery
from app.core.clock import format_utc, now
from app.core.config import Settings
from app.core.csv_files import csv_pieces
from app.core.database import AnySession, begin_write
from app.core.error_boundary import ErrorBoundary
from app.core.extensions import db
from app.core.machine import machine_id
from app.domains.models import Domain
from app.i18n.messages import lazy_gettext as _l
from app.import_export import files
from app.import_export.cells import FOLDER
from app.import_export.exporter import as_csv, as_json, pages
from app.import_export.models import Archive
from app.links import uploads
from app.links.history import PICTURES
from app.links.models import Link, LinkChange, SavedView
from app.notifications.models import NotificationHandler
from app.notifications.site import SiteUrls
from app.pixels.models import Pixel
from app.projects.models import Project
from app.trash.models import Trashed

RETENTION = dt.timedelta(hours=24)
LEASE = dt.timedelta(seconds=60)  # for a piece of the file: other machines leave it alone meanwhile
FRESH_SECONDS = 60  # younger files are kept: their row may have been added after the rows were read
TRIES = 3
TOLD_SECONDS = 0.5
LEVEL = 6
WAITING, MAKING, DONE, FAILED = "waiting", "making", "done", "failed"
UNDER_WAY = (WAITING, MAKING)
NAME = re.compile(r"[0-9a-f]{32}\.zip")
PROBLEM = _l("Waypost failed to create this file; see its log.")

errors = ErrorBoundary("old archives")


def directory_of(data_dir: Path) -> Path:
    return data_dir / "downloads"


def path_of(data_dir: Path, name: str) -> Path:
    """The path of a file by its name in the database. Raises ValueError for any other name."""
    if not NAME.fullmatch(name):
        raise ValueError(name)
    return directory_of(data_dir) / name


def find_archive(user: User) -> Archive | None:
    """The user's archive, finished or not; None once it has expired, or the user may not see all of it."""
    row = db.session.scalar(select(Archive).where(Archive.user_id == user.id))
    if row is None or (row.done_datetime is not None and row.done_datetime <= now() - RETENTION):
        return None
    return row if row.state != DONE or may_see(user, row) else None


def may_see(user: User, row: Archive) -> bool:
    """Whether the user is still in the workspace of the archive, in a role that sees what is in it."""
    access = access_of(user)
    is_inside = row.workspace_id == access.workspace_id
    return is_inside and (may(access, "read_secrets") or not row.has_secrets)


def expires_at(row: Archive) -> dt.datetime | None:
    return row.done_datetime and row.done_datetime + RETENTION


def ask(user: User, site: str) -> None:
    """Request a new archive, unless one is being made. The caller has begun the write, and commits."""
    row = db.session.scalar(select(Archive).where(Archive.user_id == user.id).with_for_update())
    if row is not None and row.state in UNDER_WAY:
        return
    if row is not None:
        db.session.delete(row)
        db.session.flush()
    db.session.add(Archive(user_id=user.id, file=f"{secrets.token_hex(16)}.zip", site=site))
    try:
        db.session.flush()
    except IntegrityError:  # a concurrent request has added the row
        db.session.rollback()


def unfinished_archives(session: AnySession, machine: str) -> Sequence[tuple[int, int]]:
    """The ids of archives that are to be made or started again, with their owners' ids; the oldest first.

    Without those that other machines than this one make.
    """
    wanted = select(Archive.id, Archive.user_id).where(Archive.state.in_(UNDER_WAY), is_free(machine))
    return session.execute(wanted.order_by(Archive.id)).all()


def is_free(machine: str) -> ColumnElement[bool]:
    """Whether no other machine makes an archive."""
    return or_(Archive.lease.is_(None), Archive.lease <= now(), Archive.who == machine)


def sweep(session: AnySession, data_dir: Path) -> int:
    """Remove old archives, and files without a row, as killed processes leave. Returns how many files."""
    old = Archive.state.not_in(UNDER_WAY), Archive.datetime <= now() - RETENTION
    if session.scalar(select(Archive.id).where(*old).limit(1)) is not None:
        over = Archive.done_datetime.is_(None) | (Archive.done_datetime <= now() - RETENTION)
        session.execute(delete(Archive).where(*old, over))
        session.commit()
    needed = set(session.scalars(select(Archive.file)))
    session.rollback()
    fresh = time.time() - FRESH_SECONDS
    found = [path for path in directory_of(data_dir).glob("*.*") if path.stat().st_mtime < fresh]
    left = [path for path in found if f"{path.stem}.zip" not in needed]
    for path in left:
        with errors.attempt(path.name):
            path.unlink(missing_ok=True)
    return len(left)


# --- making one


class ArchiveSuperseded(Exception):
    """The owner was deleted or has asked for a new file, or another machine makes this one."""


class ArchiveProgress:
    """The progress of one file. `done` counts lines, and each picture as one."""

    def __init__(self, row: Archive, machine: str) -> None:
        self.id, self.file, self.machine = row.id, row.file, machine
        self.done, self.told = 0, time.monotonic()

    def add(self, count: int) -> None:
        self.done += count
        if time.monotonic() - self.told >= TOLD_SECONDS:
            self.tell(done=self.done)

    def tell(self, **values: object) -> None:
        """Store these values in the archive's row. Raises ArchiveSuperseded."""
        begin_write(db.session)
        mine = Archive.id == self.id, Archive.file == self.file, Archive.state.in_(UNDER_WAY)
        values |= {"who": self.machine, "lease": now() + LEASE}
        told = update(Archive).where(*mine, is_free(self.machine)).values(**values).returning(Archive.id)
        found = db.session.scalar(told, execution_options={"synchronize_session": False})
        db.session.commit()
        if found is None:
            raise ArchiveSuperseded
        self.told = time.monotonic()


def run(archive_id: int, settings: Settings) -> None:
    """Make the file from the beginning. What a killed process wrote of it is overwritten."""
    row = db.session.get(Archive, archive_id)
    if row is None or row.state not in UNDER_WAY:
        return
    making = ArchiveProgress(row, machine_id(settings.data_dir))
    path = path_of(settings.data_dir, row.file)
    draft = path.with_suffix(".part")
    user, site, tries = db.session.get_one(User, row.user_id), row.site, row.tries
    access = access_of(user)
    what = {"workspace_id": access.workspace_id, "has_secrets": may(access, "read_secrets")}
    try:
        if tries >= TRIES:
            making.tell(state=FAILED, problem=PROBLEM)
            return
        making.tell(state=MAKING, tries=tries + 1, done=0, total=size_of(access), **what)
        write(draft, members(access, site), making)
        draft.replace(path)
        files.store(db.session, path, after_part=lambda: making.add(0))
        size = path.stat().st_size
        making.tell(state=DONE, done=making.done, bytes=size, done_datetime=now())
    except ArchiveSuperseded:
        db.session.rollback()
        for left in (draft, path):
            left.unlink(missing_ok=True)


def write(path: Path, found: Iterable[Member], making: ArchiveProgress) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
            for member in found:
                with archive.open(member.name, "w", force_zip64=True) as inside:
                    for text in member.pieces:
                        piece = text.encode() if isinstance(text, str) else text
                        inside.write(piece)
                        making.add(piece.count(b"\n") if member.is_text else 0)
                making.add(0 if member.is_text else 1)
        file.flush()
        os.fsync(file.fileno())


# --- what is in it

BATCH_SIZE = 500
BLOCK = 256 * 1024
NOT_TOLD = {
    "workspace_id",
    "user_id",
    "digest",
    "password_hash",
    "session_version",
    "version",
    "password_datetime",
    "last_challenge",
}
MASK = "********"
TABLES: Mapping[str, Any] = {
    "pixels.json": Pixel,
    "notification-handlers.json": NotificationHandler,
    "projects.json": Project,
    "domains.json": Domain,
    "saved-views.json": SavedView,
    "api-keys.json": ApiKey,
    "sessions.json": UserSession,
    "passkeys.json": Passkey,
    "single-sign-on.json": OidcIdentity,
    "share-addresses.json": StatisticsShare,
    "history.json": LinkChange,
    "trash.json": Trashed,
}
# whatever workspace it is of or in
OF_USER = {SavedView, ApiKey, UserSession, Passkey, OidcIdentity}
# left out for viewers of the workspace, who see no secrets of links and handlers, and no share addresses
SECRET = {"links.json", "notification-handlers.json", "trash.json", "share-addresses.json"}
README = Path(__file__).with_name("archive_readme.txt")


@dataclass(frozen=True)
class Member:
    """One file of the ZIP. `is_text`: its progress is counted in lines."""

    name: str
    pieces: Iterable[str | bytes]
    is_text: bool = True


def size_of(access: Access) -> int:
    """The approximate number of lines of all files."""
    counted = [select(func.count()).where(own(model, access)) for model in TABLES.values()]
    links = select(func.count()).where(Link.workspace_id == access.workspace_id)
    each = [int(db.session.scalar(query) or 0) for query in (links, links, *counted)]
    return sum(each) + reader_of(db.session).count_rows(access.workspace_id) + 200


def members(access: Access, site: str) -> Iterator[Member]:
    user = db.session.get_one(User, access.user.id)
    yield Member("README.txt", [README.read_text().format(email=user.email, moment=format_utc(now()))])
    account = {column.key: getattr(user, column.key) for column in User.__table__.columns}
    yield Member("account.json", [json.dumps(row_values(account), indent=2, ensure_ascii=False), "\n"])
    db.session.rollback()
    short_url = SiteUrls(site, site).short_url
    yield Member("links.csv", as_csv(pages(access.workspace_id, (), short_url)))
    hidden = frozenset() if may(access, "read_secrets") else SECRET
    if "links.json" not in hidden:
        yield Member("links.json", as_json(pages(access.workspace_id, (), short_url)))
    for name, model in TABLES.items():
        if name not in hidden:
            yield Member(name, as_json(rows_of(model, access)))
    yield from pictures(access.workspace_id)
    yield from figures(access.workspace_id)


def own(model: Any, access: Access) -> ColumnElement[bool]:
    """What is the user's own, in any workspace; or else what is in the workspace of the user's own."""
    condition: ColumnElement[bool] = (
        model.user_id == access.user.id if model in OF_USER else model.workspace_id == access.workspace_id
    )
    return condition


def rows_of(model: Any, access: Access) -> Iterator[list[dict[str, Any]]]:
    last = 0
    while True:
        some = select(model.__table__).where(own(model, access), model.id > last)
        found = db.session.execute(some.order_by(model.id).limit(BATCH_SIZE)).mappings().all()
        db.session.rollback()  # no read transaction stays open while a file is written
        if not found:
            return
        last = found[-1]["id"]
        yield [row_values(row) for row in found]


def row_values(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): json_value(name, value) for name, value in row.items() if name not in NOT_TOLD}


def json_value(name: str, value: Any) -> Any:
    """A value as JSON. Password hashes are masked wherever they occur."""
    if name == "password_hash" and value:
        return [one and MASK for one in value] if isinstance(value, list) else MASK
    if isinstance(value, dt.datetime):
        return format_utc(value)
    if isinstance(value, dict):
        return {key: json_value(key, one) for key, one in value.items()}
    return [json_value("", one) for one in value] if isinstance(value, list) else value


def pictures(workspace_id: int) -> Iterator[Member]:
    """The picture files, and then the list of which link has which."""
    listed = [("file", "link_id", "url", "what")]
    last = 0
    columns = [getattr(Link, name) for name in PICTURES]
    has_any = columns[0].is_not(None) | columns[1].is_not(None)
    while True:
        some = select(Link.id, Link.url, *columns).where(
            Link.workspace_id == workspace_id, has_any, Link.id > last
        )
        found = db.session.execute(some.order_by(Link.id).limit(BATCH_SIZE)).all()
        db.session.rollback()
        for id_, url, *names in found:
            last = id_
            for what, name in zip(PICTURES, names, strict=True):
                if name and uploads.path_of(name).is_file():
                    listed.append((f"{FOLDER}/{name}", id_, url, what))
                    yield Member(f"{FOLDER}/{name}", blocks(name), is_text=False)
        if not found:
            break
    yield Member("pictures.csv", csv_pieces(listed, has_mark=False))


def blocks(name: str) -> Iterator[bytes]:
    with uploads.path_of(name).open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def figures(workspace_id: int) -> Iterator[Member]:
    start = first_day(workspace_id)
    asked = StatisticsQuery(workspace_id=workspace_id, start=start, end=now().date(), zone=ZoneInfo("UTC"))
    for name, bots in (("visits.csv", False), ("visits-bots.csv", True)):
        yield Member(name, export.export_visits(db.engine, with_values(asked, bots=bots)))
    for type_ in TYPES:
        found = statistics.query_statistics(
            db.session, with_values(asked, type=type_, limit=export.EVERYTHING)
        )
        db.session.rollback()
        yield Member(f"statistics/{type_}.csv", export.export_report(found.rows, type_))


def with_values(asked: StatisticsQuery, **values: Any) -> StatisticsQuery:
    return StatisticsQuery(**{**asked.__dict__, **values})


def first_day(workspace_id: int) -> dt.date:
    """The day of the oldest click in the statistics; today without any."""
    oldest = first_moment(db.session, workspace_id)
    db.session.rollback()
    return (oldest or now()).date()
