"""Tables of imports with their previews and failed rows, and of archives."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import JSON, BigInteger, Dialect, ForeignKey, Index, LargeBinary, String, false, true
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

from app.core.clock import now
from app.core.database import Id, LongMessageText, PersonalRow, UtcDateTime
from app.core.extensions import db
from app.i18n.messages import pack, unpack

MAX_SHOWN_ALIAS = 300  # characters
UNFINISHED = ("new", "checking", "checked", "taking")  # states of imports


class ProblemsJson(TypeDecorator[list[list[str]]]):
    """The problems of a row: a field and a message each, which is worded in the language of its reader."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: list[list[str]] | None, dialect: Dialect) -> list[list[str]] | None:  # noqa: ARG002
        return None if value is None else [[field, pack(text)] for field, text in value]

    def process_result_value(self, value: list[list[str]] | None, dialect: Dialect) -> list[list[str]] | None:  # noqa: ARG002
        return None if value is None else [[field, unpack(text)] for field, text in value]


class LinkImport(db.Model):
    """An import of a table of links.

    `state` goes from `new` (its columns are to be named) to `checking`, `checked`, `taking` and `done`, or
    ends as `failed` or `ended`. `position` counts the processed rows; each step moves it, with
    compare-and-swap, in the transaction that stores its results.
    """

    __table_args__ = (Index(None, "workspace_id", "id"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    # the owner's name of the file, and its name in DATA_DIR/imports
    name: Mapped[str] = mapped_column(String(255))
    file: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16), default="new", index=True)
    # field → column of the table
    columns: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    # columns of the table that are not read, as they were when its owner named the others
    left_out: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    # of day, month and year: one of `dates.PLACES`; "" where no date needs it
    date_order: Mapped[str] = mapped_column(String(8), default="", server_default="")
    # for rows that name none
    project: Mapped[str] = mapped_column(String(128), default="")
    domain_id: Mapped[int | None] = mapped_column(Id)
    # rows of links that exist change them, else they are left alone or reported
    is_update: Mapped[bool] = mapped_column(default=False, server_default=false())
    # an empty cell of such a row clears the value, else the link keeps it
    clears_empty: Mapped[bool] = mapped_column(default=False, server_default=false())
    # of the upload's request, which is also a host of this instance
    host: Mapped[str] = mapped_column(String(261), default="")

    rows: Mapped[int | None] = mapped_column(Id)  # known once all were read
    position: Mapped[int] = mapped_column(Id, default=0)
    made: Mapped[int] = mapped_column(Id, default=0)
    changed: Mapped[int] = mapped_column(Id, default=0, server_default="0")
    known: Mapped[int] = mapped_column(Id, default=0)  # links that exist as the row says, from any table
    failed: Mapped[int] = mapped_column(Id, default=0)
    problem: Mapped[str] = mapped_column(LongMessageText, default="")  # of the table as a whole
    # processes that were started for it since `position` last moved: one more than have died
    tries: Mapped[int] = mapped_column(default=0, server_default="0")
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    # the machine that runs it, and until when others leave it alone
    who: Mapped[str | None] = mapped_column(String(32))
    lease: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class Archive(PersonalRow, db.Model):
    """A ZIP of everything that an owner has, requested in the dashboard: one an owner.

    `state` goes from `waiting` over `making` to `done` or `failed`. `file` is its name in DATA_DIR/downloads,
    `site` the base URL of short links from the request. `done` of `total` is the progress, roughly in lines.
    `workspace_id`: whose rows are in it, since it is made; `has_secrets`: whether passwords and settings of
    handlers are among them.
    """

    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), unique=True, index=True)
    workspace_id: Mapped[int | None] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"))
    has_secrets: Mapped[bool] = mapped_column(default=True, server_default=true())
    state: Mapped[str] = mapped_column(String(16), default="waiting", index=True)
    file: Mapped[str] = mapped_column(String(64))
    site: Mapped[str] = mapped_column(String(512))
    tries: Mapped[int] = mapped_column(default=0)
    done: Mapped[int] = mapped_column(Id, default=0)
    total: Mapped[int] = mapped_column(Id, default=0)
    bytes: Mapped[int] = mapped_column(Id, default=0)
    problem: Mapped[str] = mapped_column(LongMessageText, default="")
    done_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    # the machine that makes it, and until when others leave it alone
    who: Mapped[str | None] = mapped_column(String(32))
    lease: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class FilePart(db.Model):
    """A part of the file of an import or an archive, for the machines that do not have it on their disk.

    Parts are numbered from 0; a file without its last one is still being stored.
    """

    file: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    is_last: Mapped[bool] = mapped_column(default=False, server_default=false())
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class FailedRow(db.Model):
    """A row that can't become a link, and why; or one that did, with a notice for the owner (`is_made`)."""

    import_id: Mapped[int] = mapped_column(
        ForeignKey("link_import.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    number: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    line: Mapped[int] = mapped_column(Id)
    cells: Mapped[list[str]] = mapped_column(JSON)
    # [[field or "", what is wrong], …]
    problems: Mapped[list[list[str]]] = mapped_column(ProblemsJson)
    is_made: Mapped[bool] = mapped_column(default=False, server_default=false())


class PreviewRow(db.Model):
    """What the check of an import says about one row, and later what became of it.

    `kind` is one of the values of `preview.KINDS`. `differences` are `[field, before, after]`, shortened to
    be shown; `digest` is of the whole ones: an import that updates links writes a row only while it stays so.
    `alias_digest` is that of an alias that the row takes.
    """

    __table_args__ = (Index(None, "import_id", "kind", "number"),)

    import_id: Mapped[int] = mapped_column(
        ForeignKey("link_import.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    number: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    line: Mapped[int] = mapped_column(Id)
    kind: Mapped[str] = mapped_column(String(16))
    # no foreign key: of a link that was deleted since, the row still says what it was about
    link_id: Mapped[int | None] = mapped_column(Id)
    alias_digest: Mapped[int | None] = mapped_column(BigInteger)
    alias: Mapped[str] = mapped_column(String(MAX_SHOWN_ALIAS), default="")
    differences: Mapped[list[list[Any]]] = mapped_column(JSON, default=list)
    digest: Mapped[str] = mapped_column(String(32), default="")


class ImportedRow(db.Model):
    """The row of a table that a link was made from. While the link exists, the same row makes no other."""

    __table_args__ = (Index(None, "workspace_id", "digest", unique=True),)

    link_id: Mapped[int] = mapped_column(
        ForeignKey("link.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    digest: Mapped[str] = mapped_column(String(32))
