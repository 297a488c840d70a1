"""Which pictures does nobody name any more? Who is killed between a file and its row leaves one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping

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
    kept = in_trash(session)
    if kept is None:
        return 0
    count = 0
    for remove in (replaced.remove_strays, remove_unnamed):
        with errors.attempt(remove.__name__):
            count += remove(session, kept)
        session.rollback()
    return count


def remove_unnamed(session: Session, kept: Mapping[str, int]) -> int:
    if not uploads.directory().exists():
        return 0
    late = time.time() - YOUNGEST_SECONDS
    old = [path.name for path in uploads.directory().iterdir() if path.stat().st_mtime < late]
    found = [name for name in old if NAME.fullmatch(name.removeprefix("."))]
    strays = [name for name in found if name not in kept]
    put_away_trashed({name: kept[name] for name in found if name in kept})
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


def put_away_trashed(links: Mapping[str, int]) -> None:
    """Pictures of links that an earlier version put into the trash, and went on to serve."""
    for name, link_id in links.items():
        with errors.attempt(name):
            replaced.keep_apart(link_id, name)
            uploads.remove([name])


def in_trash(session: Session) -> dict[str, int] | None:
    """Pictures in the trash by name, each with its link's id; None where some can't be read."""
    found: dict[str, int] = {}
    trashed = select(Trashed.row_id, Trashed.rows).where(Trashed.kind == Link.__tablename__)
    for link_id, rows in session.execute(trashed):
        if isinstance(rows, Unreadable):
            session.rollback()
            return None
        found.update(dict.fromkeys(NAME.findall(json.dumps(rows)), link_id))
    session.rollback()
    return found
