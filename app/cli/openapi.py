"""`flask openapi`: what does the API say of itself?"""

from __future__ import annotations

import json

import click
from flask import current_app
from flask.cli import with_appcontext

from app.api.openapi.document import document
from app.config import Settings


@click.command("openapi")
@with_appcontext
def openapi() -> None:
    """Print the OpenAPI document of the API."""
    settings: Settings = current_app.config["WAYPOST"]
    site = settings.dashboard_url or settings.base_url or settings.local_url
    click.echo(json.dumps(document(site), indent=2, ensure_ascii=False))
