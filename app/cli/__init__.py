"""Which commands does `flask --app wsgi` have beside Flask's own and `db`?"""

from __future__ import annotations

from flask import Flask

from app.cli import (
    archives,
    backup,
    doctor,
    geo,
    keys,
    openapi,
    secrets,
    seed,
    serve,
    transfer,
    users,
    worker,
)

COMMANDS = (
    archives.archive,
    users.users,
    keys.keys,
    secrets.secrets,
    seed.seed,
    serve.serve,
    worker.worker,
    geo.geo,
    openapi.openapi,
    backup.backup,
    backup.restore,
    doctor.doctor,
    transfer.export_links,
    transfer.import_links,
)


def register(app: Flask) -> None:
    for command in COMMANDS:
        app.cli.add_command(command)
