"""`flask geo`: downloads and updates the geolocation file."""

from __future__ import annotations

import click
from flask import current_app

from app.cli.failures import Group
from app.core import clock
from app.core.config import Settings
from app.geo.lookup import Status, database_path
from app.geo.update import update as update_file

geo = Group("geo", help="The geolocation database: the country and city of visitors.")


@geo.command("update")
@click.option("--url", help="Where to download it (.mmdb or .mmdb.gz). Default: GEOIP_URL, else DB-IP.")
def update(url: str | None) -> None:
    """Download the geolocation database, verify it, and put it in place.

    Running servers use it within seconds. Once a week is enough.
    """
    settings: Settings = current_app.config["WAYPOST"]
    path = database_path(settings.geoip_db, settings.data_dir)
    now = clock.now()
    status = update_file(
        path, url or settings.geoip_url, today=now.date(), allowed=settings.allow_private_networks
    )
    click.echo(f"{path}: {status_text(status)}")
    if said := status.attribution:
        click.echo(f"{said.text} ({said.url})")


def status_text(status: Status) -> str:
    return f"{status.kind}, made on {status.built:%Y-%m-%d}" if status.built else status.kind
