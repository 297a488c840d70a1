"""`flask clicks`: copies clicks from the SQL database to ClickHouse."""

from __future__ import annotations

from collections.abc import Mapping

import click
from flask import current_app
from sqlalchemy import select

from app.analytics.clickhouse.client import StatisticsUnavailable, clickhouse_of
from app.analytics.clickhouse.copying import compare, copy_clicks, finish, is_copied
from app.analytics.engine import open_engine
from app.cli.failures import Group
from app.core.config import Settings
from app.core.extensions import db
from app.core.file_locks import lock_file
from app.links.models import Link
from app.trash.models import Trashed

LOCK = "clicks-copy.lock"
clicks = Group("clicks", help="Where the clicks are kept.")


@clicks.command("copy")
def copy() -> None:
    """Copy all clicks from the database to the ClickHouse that CLICKS_URL names, and compare the counts.

    Run it while Waypost runs, after CLICKS_URL is set. Started again, it goes on where it was.
    """
    settings: Settings = current_app.config["WAYPOST"]
    if settings.clickhouse_url is None:
        raise click.ClickException("Set CLICKS_URL to clickhouse://user:password@host:8123/database first.")
    with lock_file(settings.data_dir / LOCK) as is_free:
        if not is_free:
            raise click.ClickException("Another copy is under way.")
        try:
            copy_all(settings, settings.clickhouse_url)
        except StatisticsUnavailable as error:
            raise click.ClickException(f"{error.__cause__ or error} Start this again to go on.") from error


def copy_all(settings: Settings, address: str) -> None:
    engine, server = open_engine(settings), clickhouse_of(address)
    try:
        if is_copied(engine):
            click.echo("There is nothing left to copy.")
            return
        for done, end in copy_clicks(engine, server, find_owners, settings.click_retention_days):
            click.echo(f"{done:,} of {end:,}", err=True)
        found = compare(engine, server)
        for each in found:
            click.echo(f"{each.what}: {each.sql:,} in the database, {each.clickhouse:,} in ClickHouse")
        if any(each.sql != each.clickhouse for each in found):
            raise click.ClickException("The counts differ; the copy is not finished. Nothing was removed.")
        finish(engine)
    finally:
        engine.dispose()


def find_owners(first: int, last: int) -> Mapping[int, int]:
    """The workspaces of links with ids above `first` up to `last`, those in the trash included."""
    there = select(Link.id, Link.workspace_id).where(Link.id > first, Link.id <= last)
    trashed = select(Trashed.row_id, Trashed.workspace_id).where(
        Trashed.kind == Link.__tablename__, Trashed.row_id > first, Trashed.row_id <= last
    )
    found = {row[0]: row[1] for query in (trashed, there) for row in db.session.execute(query)}
    db.session.rollback()
    return found
