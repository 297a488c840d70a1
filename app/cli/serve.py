"""`serve`: starts the web processes and the worker, and ends them at one signal."""

from __future__ import annotations

import gc
import os
import threading
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import click
import structlog
from flask import current_app
from flask.cli import with_appcontext
from sqlalchemy.exc import SQLAlchemyError

from app.accounts.setup import FILE, known_site, pending_address
from app.cli.failures import Command
from app.cli.worker import load_worker, work_under
from app.core.clock import now
from app.core.config import Settings
from app.core.extensions import db
from app.core.logging import log_uncaught
from app.core.running_address import note_address
from app.core.setting_values import listen_address
from app.journal.shared_salt import salt_store, share_salts
from app.operations.database import migrate_first
from app.operations.listening import Listening, listen_alone
from app.operations.processes import ForkedProcess, WorkerKeeper, end_process, notify, out_of_reach

log = structlog.stdlib.get_logger("waypost")

ROLES = ("visitors", "owners")
CREATE_APP = "create_app"  # the extension that makes the application of the web processes


def read_host(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """The value of `--host`, by the rule of the setting."""
    try:
        return listen_address(text) if text else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command("serve", cls=Command)
@click.option("--host", callback=read_host, help="The address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), help="The port to listen on.")
@click.option("--processes", type=click.IntRange(1, 64), help="The number of web processes.")
@click.option(
    "--role", type=click.Choice(ROLES), help="Serve only short links, or only the dashboard and the API."
)
@with_appcontext
def serve(host: str | None, port: int | None, processes: int | None, role: str | None) -> None:
    """Run the web processes and the worker. SIGTERM ends them."""
    given = {"host": host, "port": port, "processes": processes}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    settings = replace(current_app.config["WAYPOST"], **options)
    with listen_alone(settings, role) as listening:
        settings = listening.settle(settings)
        note_address(listening.lock, settings.local_url)
        migrate_first()
        share_first_salts(settings)
        invitation = pending_address(settings)
        db.session.remove()
        db.engine.dispose()  # nothing of the database may be open when web processes are forked
        run(settings, role, listening, invitation)
    end_process()


def share_first_salts(settings: Settings) -> None:
    """Fetches the daily salts before the first visitor comes. The worker does so again and again."""
    if store := salt_store(settings, db.engine):
        try:
            share_salts(settings.data_dir, store, now())
        except (OSError, SQLAlchemyError) as error:
            log.warning("The daily salt of other machines can't be fetched yet", error=str(error))


def run(settings: Settings, role: str | None, listening: Listening, invitation: str | None) -> None:
    """Serves until a signal comes.

    The worker is stopped last: it ingests what the web processes leave.
    """
    # large, and no other command needs them
    from app.cli.web import serve_until_end, warm

    log_uncaught()
    app = current_app.extensions[CREATE_APP](settings)
    warm(app, role)
    load_worker()
    share_memory()
    listening.listen()
    ready, tell_ready = os.pipe()
    with out_of_reach():
        keeper = WorkerKeeper(ForkedProcess("waypost worker", work_under))
        keeper.start()
        threading.Thread(target=announce_ready, args=(ready, settings, invitation), daemon=True).start()
    try:
        serve_until_end(settings, listening, app, tell_ready)
    finally:
        notify("STOPPING=1")
        listening.leave()
        keeper.stop()


def share_memory() -> None:
    """Prepares for forks, which share what is in memory by now until they write to it.

    What the garbage collector looks at it also writes to, so it is told to leave all this alone.
    """
    gc.collect()
    gc.freeze()


def announce_ready(ready: int, settings: Settings, invitation: str | None) -> None:
    """Says that the web processes are ready, to the log and to the service manager."""
    for _ in range(settings.processes):
        os.read(ready, 1)
    announce(settings, invitation)
    notify("READY=1")


def announce(settings: Settings, invitation: str | None) -> None:
    """Prints the address of the instance.

    Logs in JSON are read by others, too: they name the file of the set-up token, not the token.
    """
    if settings.log_format == "json":
        log.info("listening", url=settings.local_url)
        if invitation:
            log.info(
                "no account yet",
                setup_url=f"{known_site(settings)}/setup",
                token_file=str(settings.data_dir / FILE),
            )
        return
    click.echo(f"Waypost listens on {describe_addresses(settings)} (stop it with Ctrl+C).")
    if invitation:
        click.echo(f"There is no account yet. Make the first one here: {invitation}")


def describe_addresses(settings: Settings) -> str:
    """An address that opens on this machine, and whether other addresses reach the server, too."""
    is_everywhere = ip_address(settings.host).is_unspecified
    return settings.local_url + (" and on every other address of this machine" if is_everywhere else "")
