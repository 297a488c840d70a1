"""`flask clicks`: copies clicks from the SQL database to ClickHouse."""

from __future__ import annotations

import click
from flask import current_app
from sqlalchemy import Engine, select

from app.analytics.clickhouse.client import ClickHouse, StatisticsUnavailable, clickhouse_of
from app.analytics.clickhouse.copying import NotEmpty, compare, copy_clicks
from app.analytics.engine import open_engine
from app.cli.failures import Group
from app.core.config import Settings
from app.core.extensions import db
from app.core.file_locks import is_held
from app.core.running_address import LOCK
from app.links.models import Link
from app.trash.models import Trashed

clicks = Group("clicks", help="Where the clicks are kept.")


@clicks.command("copy")
def copy() -> None:
    """Copy all clicks from the database to the empty ClickHouse that CLICKS_URL names, and compare counts.

    Stop Waypost first, on every machine.
    """
    settings: Settings = current_app.config["WAYPOST"]
    if settings.clickhouse_url is None:
        raise click.ClickException("Set CLICKS_URL to clickhouse://user:password@host:8123/database first.")
    if is_held(settings.data_dir / LOCK):
        raise click.ClickException("Stop Waypost first, on every machine.")
    engine = open_engine(settings)
    try:
        copy_all(engine, clickhouse_of(settings.clickhouse_url))
    except StatisticsUnavailable as error:
        raise click.ClickException(
            f"{error.__cause__ or error} Drop the database and start again."
        ) from error
    except NotEmpty as error:
        raise click.ClickException(
            f"The ClickHouse database {error} has clicks already, perhaps of a copy that was broken off."
            " Drop it and start again."
        ) from error
    finally:
        engine.dispose()


def copy_all(engine: Engine, server: ClickHouse) -> None:
    for done in copy_clicks(engine, server, find_owners()):
        click.echo(f"{done:,} rows", err=True)
    found = compare(engine, server)
    for what, (sql, there) in found.items():
        click.echo(f"{what}: {sql:,} in the database, {there:,} in ClickHouse")
    if any(sql != there for sql, there in found.values()):
        raise click.ClickException("The counts differ. Drop the database in ClickHouse and start again.")


def find_owners() -> dict[int, int]:
    """The workspace of each link, those in the trash included."""
    trashed = select(Trashed.row_id, Trashed.workspace_id).where(Trashed.kind == Link.__tablename__)
    there = select(Link.id, Link.workspace_id)
    found = {row[0]: row[1] for query in (trashed, there) for row in db.session.execute(query)}
    db.session.rollback()
    return found
