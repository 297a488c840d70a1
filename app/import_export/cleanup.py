"""Removal of the files of imports that have ended or were abandoned."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.core.clock import now
from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.import_export.files import directory_of
from app.import_export.models import LinkImport
from app.import_export.services import UNFINISHED

RETENTION = dt.timedelta(days=7)  # of an import that its owner has not started

errors = ErrorBoundary("files of imports")


def tidy(session: Session, data_dir: Path) -> int:
    """End abandoned imports, and remove the files of ended ones. Returns how many files."""
    begin_write(session)
    forgotten = LinkImport.state.in_(("new", "checked")), LinkImport.datetime < now() - RETENTION
    session.execute(update(LinkImport).where(*forgotten).values(state="ended"))
    session.commit()
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
