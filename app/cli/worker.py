"""`worker`: how is the process that counts started on its own?"""

from __future__ import annotations

import os

import click
from flask import current_app
from flask.cli import with_appcontext

from app.cli.database import migrate_first
from app.cli.failures import Command
from app.cli.lifetime import leave_with_parent

NICE = 5  # visitors come first


@click.command("worker", cls=Command)
@click.option("--parent", type=int, hidden=True, help="The process to end with.")
@with_appcontext
def worker(parent: int | None) -> None:
    """Count visits and see to everything else that runs beside the web processes. (`serve` starts one.)"""
    from app.jobs import Worker  # heavy, and no other command needs it

    if parent is None:
        migrate_first()
    else:
        leave_with_parent(parent)
        os.nice(NICE)
    Worker(current_app.config["WAYPOST"]).run()
