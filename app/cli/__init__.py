"""Commands of Waypost for `flask --app wsgi` and for `waypost`, beside Flask-Migrate's `db`."""

from __future__ import annotations

import json
from collections.abc import Callable

import click
from flask import Flask
from flask.cli import FlaskGroup, with_appcontext
from flask_migrate.cli import db as migrations

from app.cli import (
    backup,
    clicks,
    database,
    doctor,
    events,
    geo,
    journal,
    keys,
    secrets,
    seed,
    serve,
    transfer,
    users,
    worker,
)
from app.core.config import Settings
from app.core.version import VERSION
from app.openapi.document import document
from app.web.application import settings


@click.command("openapi")
@with_appcontext
def openapi() -> None:
    """Print the OpenAPI document of the API."""
    found = settings()
    site = found.dashboard_url or found.base_url or found.local_url
    click.echo(json.dumps(document(site), indent=2, ensure_ascii=False))


COMMANDS = (
    transfer.archive,
    users.users,
    keys.keys,
    secrets.secrets,
    seed.seed,
    serve.serve,
    worker.worker,
    geo.geo,
    clicks.clicks,
    openapi,
    backup.backup,
    backup.restore,
    doctor.doctor,
    journal.journal,
    events.events,
    transfer.export_links,
    transfer.import_links,
)


def register(app: Flask, create_app: Callable[[Settings], Flask]) -> None:
    """Adds the commands. `create_app` makes the applications of the processes that `serve` starts."""
    app.extensions[serve.CREATE_APP] = create_app
    for command in COMMANDS:
        app.cli.add_command(command)
    migrations.add_command(database.copy)
    migrations.add_command(database.upgrade)


def make_group(app: Flask) -> FlaskGroup:
    """Returns the commands as a program of their own, without Flask's commands and options."""
    group = FlaskGroup(
        create_app=lambda: app,
        add_default_commands=False,
        add_version_option=False,
        load_dotenv=False,
        help="Waypost, a self-hosted link manager. The README lists all settings.",
    )
    group.params.clear()
    click.version_option(VERSION, prog_name="Waypost")(group)
    return group
