"""The files in the ZIP of everything that an account has, and their contents."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, func, select

from app.accounts.access import Access
from app.accounts.models import ApiKey, Passkey, User, UserSession
from app.accounts.oidc.models import OidcIdentity
from app.accounts.rights import may
from app.analytics import export, statistics
from app.analytics.dimensions import TYPES
from app.analytics.readers import first_moment, reader_of
from app.analytics.sharing.models import StatisticsShare
from app.analytics.statistics import StatisticsQuery
from app.core.clock import format_utc, now
from app.core.csv_files import csv_pieces
from app.core.extensions import db
from app.domains.models import Domain
from app.import_export.cells import FOLDER
from app.import_export.exporter import as_csv, as_json, pages
from app.links import uploads
from app.links.history import PICTURES
from app.links.models import Link, LinkChange, SavedView
from app.notifications.models import NotificationHandler
from app.notifications.site import SiteUrls
from app.pixels.models import Pixel
from app.projects.models import Project
from app.trash.models import Trashed

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
