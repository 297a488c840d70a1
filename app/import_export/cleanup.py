"""Which tables does nobody need any more?"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.clock import now
from app.database import begin_write
from app.error_boundary import ErrorBoundary
from app.transfer.files import directory_of
from app.transfer.models import LinkImport
from app.transfer.services import UNFINISHED

KEPT = dt.timedelta(days=7)  # of one that nobody has had taken in

errors = ErrorBoundary("files of imports")


def tidy(session: Session, data_dir: Path) -> int:
    """End imports that were forgotten, and remove the files of those that have ended; how many files."""
    begin_write(session)
    forgotten = LinkImport.state.in_(("new", "checked")), LinkImport.datetime < now() - KEPT
    session.execute(update(LinkImport).where(*forgotten).values(state="ended"))
    session.commit()
    needed = set(session.scalars(select(LinkImport.file).where(LinkImport.state.in_(UNFINISHED))))
    session.rollback()
    # a file is there before its row is
    recent = (now() - dt.timedelta(hours=1)).timestamp()
    old = [path for path in directory_of(data_dir).glob("*.csv") if path.stat().st_mtime < recent]
    left = [path for path in old if path.name not in needed]
    for path in left:
        with errors.attempt(path.name):
            path.unlink(missing_ok=True)
    return len(left)
