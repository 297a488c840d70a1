"""Removal of the files and previews of imports that have ended or were abandoned."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.core.clock import now
from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.import_export import shared_files
from app.import_export.files import directory_of
from app.import_export.models import LinkImport, PreviewRow
from app.import_export.preview import forget
from app.import_export.services import UNFINISHED

RETENTION = dt.timedelta(days=7)  # of an import that its owner has not started

errors = ErrorBoundary("files of imports")


def tidy(session: Session, data_dir: Path) -> int:
    """End abandoned imports, and remove the files and previews of ended ones. Returns how many files.

    Each machine runs it, for the files on its disk.
    """
    begin_write(session)
    forgotten = LinkImport.state.in_(("new", "checked")), LinkImport.datetime < now() - RETENTION
    session.execute(update(LinkImport).where(*forgotten).values(state="ended"))
    session.commit()
    forget_previews(session)
    with errors.attempt("stored parts"):
        shared_files.sweep(session)
    needed = set(session.scalars(select(LinkImport.file).where(LinkImport.state.in_(UNFINISHED))))
    session.rollback()
    # a file exists before its row does
    recent = (now() - dt.timedelta(hours=1)).timestamp()
    old = [path for path in directory_of(data_dir).glob("*.*") if path.stat().st_mtime < recent]
    left = [path for path in old if path.with_suffix(".csv").name not in needed]
    for path in left:
        with errors.attempt(path.name):
            path.unlink(missing_ok=True)
    return len(left)


def forget_previews(session: Session) -> None:
    """Remove what was checked of each row, some days after an import's end. Its failed rows stay."""
    moment = now() - RETENTION
    over = (
        LinkImport.state.not_in(UNFINISHED),
        func.coalesce(LinkImport.last_datetime, LinkImport.datetime) < moment,
    )
    old = select(PreviewRow.import_id).join(LinkImport, LinkImport.id == PreviewRow.import_id).where(*over)
    while import_id := session.scalar(old.limit(1)):
        while forget(session, import_id):
            pass
