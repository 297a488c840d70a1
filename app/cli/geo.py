"""`flask geo`: how does the file that tells places get here, and stay new?"""

from __future__ import annotations

import click
from flask import current_app

from app import clock
from app.cli.failures import Group
from app.config import Settings
from app.visits.geo_update import update as update_file
from app.visits.place import Status, database_path

geo = Group("geo", help="The file that tells in which country and town a visitor is.")


@geo.command("update")
@click.option("--url", help="Where to fetch it (.mmdb, or .mmdb.gz): else GEOIP_URL, else DB-IP's.")
def update(url: str | None) -> None:
    """Fetch a newer file of places, try it, and put it where it is looked for.

    Running servers take it up within seconds. Once a week is enough.
    """
    settings: Settings = current_app.config["WAYPOST"]
    path = database_path(settings.geoip_db, settings.data_dir)
    now = clock.now()
    status = update_file(
        path, url or settings.geoip_url, today=now.date(), allowed=settings.allow_private_networks
    )
    click.echo(f"{path}: {told(status)}")
    if said := status.attribution:
        click.echo(f"{said.text} ({said.url})")


def told(status: Status) -> str:
    return f"{status.kind}, made on {status.built:%Y-%m-%d}" if status.built else status.kind
