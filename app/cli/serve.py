"""`serve`: starts the web processes and the worker, and ends them at one signal."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from ipaddress import ip_address

import click
import structlog
from flask import current_app
from flask.cli import with_appcontext

from app.accounts.setup import FILE, known_site, pending_address
from app.cli.failures import Command
from app.core.config import Settings
from app.core.extensions import db
from app.core.logging import log_uncaught
from app.core.setting_values import listen_address
from app.operations.database import migrate_first
from app.operations.processes import (
    WorkerKeeper,
    end_process,
    hold_lock,
    out_of_reach,
    refusal_to_listen,
    wait_until,
)

log = structlog.stdlib.get_logger("waypost")

ROLES = ("visitors", "owners")
CREATE_APP = "create_app"  # the extension that makes each web process its application


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
    settings = replace(current_app.config["WAYPOST"], **{k: v for k, v in given.items() if v is not None})
    with alone(settings, role):
        migrate_first()
        invitation = pending_address(settings)
        db.session.remove()
        db.engine.dispose()  # nothing of the database may be open when web processes are forked
        run(settings, role, invitation)
    end_process()


@contextmanager
def alone(settings: Settings, role: str | None) -> Iterator[None]:
    """Locks the data directory and makes sure that the port is free. Raises ClickException otherwise."""
    with ExitStack() as stack:
        locks = [stack.enter_context(hold_lock(settings.data_dir / "serve.lock", shared=role is not None))]
        if role is not None:
            locks.append(stack.enter_context(hold_lock(settings.data_dir / f"serve-{role}.lock")))
        if not all(locks):
            raise click.ClickException(f"Waypost is running on {settings.data_dir} already.")
        if not wait_until(lambda: refusal_to_listen(settings.host, settings.port) is None):
            refusal = refusal_to_listen(settings.host, settings.port)
            raise click.ClickException(str(refusal or "The port was in use until now: start again."))
        yield


def run(settings: Settings, role: str | None, invitation: str | None) -> None:
    """Serves until a signal comes. The worker is stopped last: it ingests what the web processes leave."""
    from app.cli.web import server  # the server is large, and no other command needs it

    log_uncaught()
    keeper = WorkerKeeper()
    with out_of_reach():
        keeper.start()
        threading.Thread(target=announce, args=(settings, invitation), daemon=True).start()
    try:
        server(partial(current_app.extensions[CREATE_APP], settings), settings, role)()
    finally:
        keeper.stop()


def announce(settings: Settings, invitation: str | None) -> None:
    """Prints the address of the instance as soon as the server answers.

    Logs in JSON are read by others, too: they name the file of the set-up token, not the token.
    """
    while not is_answered(settings):
        time.sleep(0.02)
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


def is_answered(settings: Settings) -> bool:
    try:
        socket.create_connection((settings.local_host.strip("[]"), settings.port), timeout=1).close()
    except OSError:
        return False
    return True


def describe_addresses(settings: Settings) -> str:
    """An address that opens on this machine, and whether other addresses reach the server, too."""
    is_everywhere = ip_address(settings.host).is_unspecified
    return settings.local_url + (" and on every other address of this machine" if is_everywhere else "")
