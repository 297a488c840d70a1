"""Removes uploaded pictures that no link names. A process killed between a file and its row leaves one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core import stored_files
from app.core.encryption import UnreadableSecret
from app.core.error_boundary import ErrorBoundary
from app.core.stored_files import StoredFile
from app.links import previous_uploads, uploads
from app.links.models import Link
from app.trash.models import Trashed

NAME = re.compile(r"[0-9a-f]{32}\.[a-z]{3,4}")
YOUNGEST_SECONDS = 24 * 60 * 60  # a file is written before its row is
BATCH_SIZE = 500

errors = ErrorBoundary("stray pictures")


def remove_strays(session: Session) -> int:
    """Remove orphaned pictures, served and replaced ones. Returns how many. Those of links in the trash stay:
    these links can be restored."""
    kept = in_trash(session)
    if kept is None:
        return 0
    count = 0
    of_files = (previous_uploads.remove_strays, remove_unnamed)
    of_database = (previous_uploads.remove_stored_strays, remove_unnamed_stored, remove_unused)
    for remove in of_database if uploads.is_in_database() else of_files:
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
    for start in range(0, len(strays), BATCH_SIZE):
        some = strays[start : start + BATCH_SIZE]
        named = of_links(session, some)
        for name in some:
            if name not in named:
                with errors.attempt(name):
                    uploads.remove_files([uploads.directory() / name])
        strays[start : start + BATCH_SIZE] = [name if name not in named else "" for name in some]
    return sum(map(bool, strays))


def remove_unnamed_stored(session: Session, kept: Mapping[str, int]) -> int:
    """The same for pictures in the database."""

    def strays_among(paths: Sequence[str]) -> list[str]:
        names = {path.partition("/")[2]: path for path in paths}
        named = of_links(session, list(names))
        return [path for name, path in names.items() if name not in named and name not in kept]

    return stored_files.remove_strays(session, StoredFile.row_id.is_(None), YOUNGEST_SECONDS, strays_among)


def remove_unused(session: Session, _kept: Mapping[str, int]) -> int:
    return stored_files.remove_unused_content(session)


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
    """Stop serving the pictures of links in the trash, which a process that was ended may have left there."""
    for name, link_id in links.items():
        with errors.attempt(name):
            previous_uploads.keep_apart(link_id, name)
            uploads.remove_files([uploads.directory() / name])


def in_trash(session: Session) -> dict[str, int] | None:
    """Pictures of links in the trash: name to link id. None if an entry can't be decrypted."""
    found: dict[str, int] = {}
    trashed = select(Trashed.row_id, Trashed.rows).where(Trashed.kind == Link.__tablename__)
    for link_id, rows in session.execute(trashed):
        if isinstance(rows, UnreadableSecret):
            session.rollback()
            return None
        found.update(dict.fromkeys(NAME.findall(json.dumps(rows)), link_id))
    session.rollback()
    return found
