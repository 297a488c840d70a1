"""`flask media`: moves uploaded pictures to where this instance keeps them."""

from __future__ import annotations

import click

from app.cli.failures import Group
from app.core.storage_settings import bucket_address
from app.links.picture_bucket import PictureBucket
from app.net.s3 import Bucket, BucketError, account_of
from app.operations.database import migrate_first
from app.operations.media import move_pictures
from app.web.application import settings

media = Group("media", help="Uploaded pictures: move them to where this instance keeps them.")


@media.command("copy")
@click.option("--from", "source", metavar="s3://…", help="A bucket that MEDIA_URL does not name any more.")
def copy(source: str | None) -> None:
    """Move pictures into the bucket that MEDIA_URL names; else into the database on PostgreSQL, and out of it
    into files on SQLite.

    For an instance that came from the other database, or from a version that kept files. Run it on every
    machine that holds files. It may be interrupted and run again, while Waypost runs.
    """
    migrate_first()
    try:
        moved = move_pictures(settings(), open_source(source) if source else None)
    except BucketError as error:
        raise click.ClickException(str(error)) from None
    click.echo(
        f"Moved: {moved.pictures:,} ({moved.bytes / 1_000_000:,.1f} MB). Already there: {moved.known:,}."
    )
    if moved.missing:
        raise click.ClickException(f"The bucket lacks {moved.missing:,} contents of pictures.")


def open_source(address: str) -> PictureBucket:
    try:
        bucket = Bucket(account_of(settings()), bucket_address(address))
    except ValueError as error:
        raise click.UsageError(f"--from {error}") from None
    bucket.check()
    return PictureBucket(bucket)
