"""Moves uploaded pictures between files in the data directory, the database and a bucket, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from app.core import stored_files
from app.core.config import Settings
from app.core.database import begin_write
from app.core.durable_files import create_file
from app.core.extensions import db
from app.core.stored_files import StoredContent, StoredFile
from app.links import orphan_uploads, previous_uploads, uploads
from app.links.picture_bucket import PictureBucket, open_picture_bucket

BATCH_SIZE = 100


@dataclass
class MovedPictures:
    """How many pictures were moved, how many bytes they have, and how many were there before.

    `missing`: contents that a bucket should have and has not.
    """

    pictures: int = 0
    bytes: int = 0
    known: int = 0
    missing: int = 0

    def add(self, other: MovedPictures) -> None:
        self.pictures += other.pictures
        self.bytes += other.bytes
        self.known += other.known
        self.missing += other.missing

    def count(self, size: int, *, is_new: bool) -> None:
        if is_new:
            self.pictures += 1
            self.bytes += size
        else:
            self.known += 1


def move_pictures(settings: Settings, source: PictureBucket | None = None) -> MovedPictures:
    """Moves each picture to where this instance keeps them. One is removed where it was once it is stored.

    `source`: a bucket that the settings do not name any more.
    """
    target = open_picture_bucket(settings)
    if source is not None:
        stored_files.use_store(source)  # what is read is there
        moved = bucket_to_database(source)
        stored_files.use_store(target)
    else:
        moved = MovedPictures()
    if settings.is_sqlite:
        moved.add(database_to_files(settings.data_dir))
    else:
        moved.add(files_to_database())
        if target is not None:
            moved.add(database_to_bucket(target))
    return moved


def database_to_bucket(bucket: PictureBucket) -> MovedPictures:
    moved, last = MovedPictures(), ""
    in_database = StoredContent.content.is_not(None)
    while True:
        some = select(StoredContent.digest).where(in_database, StoredContent.digest > last)
        digests = db.session.scalars(some.order_by(StoredContent.digest).limit(BATCH_SIZE)).all()
        db.session.rollback()
        for last in digests:
            content = db.session.scalar(select(StoredContent.content).where(StoredContent.digest == last))
            db.session.rollback()
            if content is not None:
                is_new = stored_files.move_to_store(db.session, bucket, last, content)
                moved.count(len(content), is_new=is_new)
        if not digests:
            return moved


def bucket_to_database(bucket: PictureBucket) -> MovedPictures:
    """Out of a bucket. An object that is gone, or is to be removed anyway, stays as it is."""
    moved, last = MovedPictures(), ""
    in_bucket = StoredContent.object_name.is_not(None), ~stored_files.is_left()
    while True:
        some = select(StoredContent.digest, StoredContent.object_name).where(
            *in_bucket, StoredContent.digest > last
        )
        rows = db.session.execute(some.order_by(StoredContent.digest).limit(BATCH_SIZE)).all()
        db.session.rollback()
        for last, name in rows:
            try:
                content = bucket.get(str(name))
            except FileNotFoundError:
                moved.missing += 1
                continue
            stored_files.move_to_database(db.session, last, content)
            bucket.remove(str(name))
            moved.count(len(content), is_new=True)
        if not rows:
            return moved


def files_to_database() -> MovedPictures:
    moved = MovedPictures()
    for path, stored_path, link_id in [*served_files(), *previous_files()]:
        content = path.read_bytes()
        begin_write(db.session)
        is_new = stored_files.add(db.session, stored_path, content, link_id)
        db.session.commit()
        path.unlink(missing_ok=True)
        moved.count(len(content), is_new=is_new)
    return moved


def served_files() -> Iterator[tuple[Path, str, int | None]]:
    directory = uploads.directory()
    for path in directory.iterdir() if directory.is_dir() else ():
        if orphan_uploads.NAME.fullmatch(path.name):
            yield path, uploads.stored_path(path.name), None


def previous_files() -> Iterator[tuple[Path, str, int | None]]:
    for link_id, path, name in previous_uploads.listed():
        yield path, previous_uploads.stored_path(link_id, name), link_id


def database_to_files(data_dir: Path) -> MovedPictures:
    """Out of a database that came from PostgreSQL, into files."""
    moved = MovedPictures()
    while paths := db.session.scalars(select(StoredFile.path).limit(BATCH_SIZE)).all():
        for stored_path in paths:
            content = stored_files.read(db.session, stored_path) or b""
            path = data_dir / stored_path
            is_new = not path.exists()
            path.parent.mkdir(mode=0o700, exist_ok=True)
            create_file(path, content)
            moved.count(len(content), is_new=is_new)
        begin_write(db.session)
        stored_files.remove(db.session, paths)
        db.session.commit()
    stored_files.remove_all_content(db.session)
    return moved
