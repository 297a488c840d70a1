"""Previous pictures of links, kept so that an older state can be restored. They are never served.

Each is named by the link's id and the picture's name, apart from the current ones: in a directory, or in the
database where that holds the pictures. It stays as long as the link's history names it; the nightly sweep
removes the others.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core import stored_files
from app.core.database import AnySession
from app.core.encryption import UnreadableSecret
from app.core.error_boundary import ErrorBoundary
from app.core.extensions import db
from app.core.stored_files import StoredFile
from app.links import uploads
from app.links.models import LinkChange

FOLDER = "replaced"
PICTURES = ("cloaking_favicon", "cloaking_opengraph")
NAME = re.compile(r"([0-9]{1,19})-([0-9a-f]{32}\.[a-z]{3,4})", re.ASCII)
YOUNGEST_SECONDS = 24 * 60 * 60  # a file is written before its history is
BATCH_SIZE = 100  # links

At = TypeVar("At", str, Path)

errors = ErrorBoundary("replaced pictures")


def directory() -> Path:
    return uploads.directory().with_name(FOLDER)


def place_of(link_id: int, name: str) -> Path:
    return directory() / f"{link_id}-{name}"


def stored_path(link_id: int, name: str) -> str:
    """The path of a previous picture in the database."""
    return f"{FOLDER}/{link_id}-{name}"


def put_away(link_id: int, name: str | None) -> None:
    """Keep a picture for the link's history, at once. It is served until the transaction is committed."""
    if not name:
        return
    if uploads.is_in_database():
        with contextlib.suppress(FileNotFoundError):
            uploads.link_stored(uploads.stored_path(name), stored_path(link_id, name), link_id)
    elif keep_apart(link_id, name):
        uploads.noted("new_uploads").append(place_of(link_id, name))
    uploads.discard(name)


def keep_apart(link_id: int, name: str) -> bool:
    """Link the served file into this directory, too. Returns whether it was not there before."""
    directory().mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError, FileExistsError):
        os.link(uploads.directory() / name, place_of(link_id, name))
        return True
    return False


def bring_back(link_id: int, name: str | None) -> None:
    """Give the picture back to a link that is restored from the trash."""
    if not name:
        return
    if uploads.is_in_database():
        with contextlib.suppress(FileNotFoundError):
            uploads.link_stored(stored_path(link_id, name), uploads.stored_path(name))
        return
    place, served = place_of(link_id, name), uploads.directory() / name
    with contextlib.suppress(FileNotFoundError, FileExistsError):
        os.link(place, served)
        uploads.noted("new_uploads").append(served)


def find(link_id: int, name: str) -> Path | None:
    """The path of a picture that the link has, or had; None if it is gone. `keep_again` takes it."""
    if uploads.is_in_database():
        paths = [stored_path(link_id, name), uploads.stored_path(name)]
        there = stored_files.known(db.session, paths)
        return next((Path(path) for path in paths if path in there), None)
    # what is replaced meanwhile is linked here before it is removed there
    places = (place_of(link_id, name), uploads.directory() / name)
    return next((place for place in places if place.is_file()), None)


def of_links(ids: Iterable[int]) -> list[Path]:
    wanted = set(ids)
    return [path for link_id, path, _ in listed() if link_id in wanted] if wanted else []


def listed() -> Iterator[tuple[int, Path, str]]:
    """Each file: the id of its link, its path, and the picture's name."""
    if directory().exists():
        for path in directory().iterdir():
            if match := NAME.fullmatch(path.name):
                yield int(match[1]), path, match[2]


def forget(ids: Iterable[int]) -> None:
    """Remove all previous pictures of these links, which are deleted for good, once that is committed."""
    if uploads.is_in_database():
        stored_files.remove_of_rows(db.session, list(ids))
    else:
        uploads.noted("old_uploads").extend(of_links(ids))


def remove(session: AnySession, ids: Sequence[int]) -> None:
    """Remove all previous pictures of these links as `uploads.remove` does."""
    if uploads.is_in_database():
        stored_files.remove_of_rows(session, ids)
    else:
        uploads.remove_files(of_links(ids))


def remove_strays(session: Session, in_trash: Collection[str] = ()) -> int:
    """Remove files that neither a history nor a link `in_trash` names. Returns how many. Their age is the
    `ctime`, because a new hard link updates that."""
    late = time.time() - YOUNGEST_SECONDS
    found: dict[int, dict[str, Path]] = defaultdict(dict)
    for link_id, path, name in listed():
        if name not in in_trash and path.stat().st_ctime < late:
            found[link_id][name] = path
    ids = sorted(found)
    return sum(strays_of(session, ids[at : at + BATCH_SIZE], found) for at in range(0, len(ids), BATCH_SIZE))


def remove_stored_strays(session: Session, in_trash: Collection[str] = ()) -> int:
    """The same for pictures in the database."""

    def strays_among(paths: Sequence[str]) -> list[str]:
        found: dict[int, dict[str, str]] = defaultdict(dict)
        for path in paths:
            link_id, _, name = path.removeprefix(f"{FOLDER}/").partition("-")
            if name not in in_trash:
                found[int(link_id)][name] = path
        return unnamed(session, sorted(found), found)

    is_previous = StoredFile.row_id.is_not(None)
    return stored_files.remove_strays(session, is_previous, YOUNGEST_SECONDS, strays_among)


def strays_of(session: Session, ids: Sequence[int], found: Mapping[int, Mapping[str, Path]]) -> int:
    strays = unnamed(session, ids, found)
    for path in strays:
        with errors.attempt(path.name):
            uploads.remove_files([path])
    return len(strays)


def unnamed(session: Session, ids: Sequence[int], found: Mapping[int, Mapping[str, At]]) -> list[At]:
    """Where those pictures are that no history of their link names."""
    changes = select(LinkChange.link_id, LinkChange.fields).where(LinkChange.link_id.in_(ids))
    rows = session.execute(changes).all()
    session.rollback()
    named = {(link_id, fields[name][0]) for link_id, fields in rows for name in PICTURES if name in fields}
    # what can't be read now may name any of them
    unknown = {link_id for link_id, fields in rows if isinstance(fields, UnreadableSecret)}
    readable = [id_ for id_ in ids if id_ not in unknown]
    return [at for id_ in readable for name, at in found[id_].items() if (id_, name) not in named]
