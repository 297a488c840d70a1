"""`serve`: how does everything start with one command, and end with one signal?"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from ipaddress import ip_address

import click
import structlog
from flask import current_app
from flask.cli import with_appcontext

from app.accounts.setup import FILE, pending_address, site
from app.cli.database import migrate_first
from app.cli.failures import Command
from app.cli.lifetime import WorkerKeeper, held, out_of_reach, refusal_to_listen, wait_until
from app.config import Settings
from app.extensions import db
from app.setting_values import listen_address

log = structlog.stdlib.get_logger("waypost")

ROLES = ("visitors", "owners")


def read_host(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """The value of `--host`, by the rule of the setting."""
    try:
        return listen_address(text) if text else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command("serve", cls=Command)
@click.option("--host", callback=read_host, help="The address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), help="The port to listen on.")
@click.option("--processes", type=click.IntRange(1, 64), help="How many web processes.")
@click.option("--role", type=click.Choice(ROLES), help="Serve only links, or only the dashboard and the API.")
@with_appcontext
def serve(host: str | None, port: int | None, processes: int | None, role: str | None) -> None:
    """Serve visitors and owners, with the worker beside it. SIGTERM ends it."""
    given = {"host": host, "port": port, "processes": processes}
    settings = replace(current_app.config["WAYPOST"], **{k: v for k, v in given.items() if v is not None})
    with alone(settings, role):
        migrate_first()
        invitation = pending_address(settings)
        db.session.remove()
        db.engine.dispose()  # nothing of the database may be open when web processes are forked
        run(settings, role, invitation)


@contextmanager
def alone(settings: Settings, role: str | None) -> Iterator[None]:
    """Hold the data directory and make sure of the port, or say who is in the way and exit 1."""
    with ExitStack() as stack:
        locks = [stack.enter_context(held(settings.data_dir / "serve.lock", shared=role is not None))]
        if role is not None:
            locks.append(stack.enter_context(held(settings.data_dir / f"serve-{role}.lock")))
        if not all(locks):
            raise click.ClickException(f"Waypost is running on {settings.data_dir} already.")
        if not wait_until(lambda: refusal_to_listen(settings.host, settings.port) is None):
            refusal = refusal_to_listen(settings.host, settings.port)
            raise click.ClickException(str(refusal or "The port was in use until now: start again."))
        yield


def run(settings: Settings, role: str | None, invitation: str | None) -> None:
    """Until a signal comes. The worker is stopped last: it takes in what the web processes leave."""
    from app.cli.web import server  # the server is large, and no other command needs it

    keeper = WorkerKeeper()
    with out_of_reach():
        keeper.start()
        threading.Thread(target=announce, args=(settings, invitation), daemon=True).start()
    try:
        server(settings, role)()
    finally:
        keeper.stop()


def announce(settings: Settings, invitation: str | None) -> None:
    """Say where to go as soon as somebody answers there.

    Logs in JSON are read by others, too: they name the file of the set-up token, not the token.
    """
    while not is_answered(settings):
        time.sleep(0.02)
    if settings.log_format == "json":
        log.info("listening", url=settings.local_url)
        if invitation:
            log.info(
                "no account yet",
                setup_url=f"{site(settings)}/setup",
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
    """An address that opens on this machine, and whether others lead here, too."""
    is_everywhere = ip_address(settings.host).is_unspecified
    return settings.local_url + (" and on every other address of this machine" if is_everywhere else "")
