"""How does the worker have a file of everything made in a process of its own?"""

from __future__ import annotations

import click
from flask import current_app
from flask.cli import with_appcontext

from app.cli.failures import Command
from app.cli.lifetime import leave_with_parent
from app.transfer import archiving


@click.command("archive", cls=Command, hidden=True)
@click.option("--run", "archive_id", type=int, required=True, help="One that was asked for.")
@click.option("--parent", type=int, help="The process to end with.")
@with_appcontext
def archive(archive_id: int, parent: int | None) -> None:
    """Make a file that an owner asked for in the dashboard."""
    if parent is not None:
        leave_with_parent(parent)
    archiving.run(archive_id, current_app.config["WAYPOST"])
