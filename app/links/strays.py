"""Which pictures does nobody name any more? Who is killed between a file and its row leaves one."""

from __future__ import annotations

import json
import re
import time

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.error_boundary import ErrorBoundary
from app.links import replaced, uploads
from app.links.models import Link
from app.sealing import Unreadable
from app.trash.models import Trashed

NAME = re.compile(r"[0-9a-f]{32}\.[a-z]{3,4}")
YOUNGEST_SECONDS = 24 * 60 * 60  # a file is there before its row is
AT_ONCE = 500

errors = ErrorBoundary("stray pictures")


def remove_strays(session: Session) -> int:
    """How many were removed. Of links that are in the trash they stay: these can come back."""
    count = 0
    for remove in (replaced.remove_strays, remove_unnamed):
        with errors.attempt(remove.__name__):
            count += remove(session)
        session.rollback()
    return count


def remove_unnamed(session: Session) -> int:
    if not uploads.directory().exists():
        return 0
    late = time.time() - YOUNGEST_SECONDS
    old = [path.name for path in uploads.directory().iterdir() if path.stat().st_mtime < late]
    found = [name for name in old if NAME.fullmatch(name.removeprefix("."))]
    kept = in_trash(session) if found else set()
    if kept is None:
        return 0
    strays = [name for name in found if name not in kept]
    for start in range(0, len(strays), AT_ONCE):
        some = strays[start : start + AT_ONCE]
        named = of_links(session, some)
        for name in some:
            if name not in named:
                with errors.attempt(name):
                    uploads.remove([name])
        strays[start : start + AT_ONCE] = [name if name not in named else "" for name in some]
    return sum(map(bool, strays))


def of_links(session: Session, names: list[str]) -> set[str]:
    found = {
        name
        for column in (Link.cloaking_favicon, Link.cloaking_opengraph)
        for name in session.scalars(select(column).where(column.in_(names)))
        if name
    }
    session.rollback()
    return found


def in_trash(session: Session) -> set[str] | None:
    """Whatever is named in what could be put back; None where some of that can't be read now."""
    found: set[str] = set()
    for rows in session.scalars(select(Trashed.rows)):
        if isinstance(rows, Unreadable):
            session.rollback()
            return None
        found.update(NAME.findall(json.dumps(rows)))
    session.rollback()
    return found
