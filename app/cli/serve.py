"""`serve`: starts the web processes and the worker, and ends them at one signal."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
from app.cli.reload import Reloads, begin, control_path, reload_running
from app.cli.worker import load_worker, work_under
from app.core.clock import now
from app.core.config import Settings
from app.core.extensions import db
from app.core.logging import log_uncaught
from app.core.running_address import note_address
from app.core.setting_values import listen_address
from app.journal.shared_salt import salt_store, share_salts
from app.operations.database import migrate_first, require_additive
from app.operations.listening import Listening, inherit, listen_alone
from app.operations.processes import (
    HANDOVER,
    ForkedProcess,
    WorkerKeeper,
    end_process,
    leave_with_parent,
    notify,
    out_of_reach,
)

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
@click.option("--reload", "is_reload", is_flag=True, help="Replace the running processes without a gap.")
@click.option("--inherited", hidden=True, help="What the running `serve` hands over.")
@with_appcontext
def serve(
    host: str | None,
    port: int | None,
    processes: int | None,
    role: str | None,
    is_reload: bool,
    inherited: str | None,
) -> None:
    """Run the web processes and the worker. SIGTERM ends them, SIGHUP reloads them.

    `--reload` has a running `serve` start its processes anew with this program and its settings: the old ones
    go on until the new ones are ready, and where these don't come up.
    """
    given = {"host": host, "port": port, "processes": processes}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    settings: Settings = current_app.config["WAYPOST"]
    if is_reload:
        reload_running(settings.data_dir, (role,) if role else (None, *ROLES))
        return
    settings = replace(settings, **options)
    with take_over(settings, inherited) if inherited else listen_alone(settings, role) as listening:
        settings = listening.settle(settings)
        note_address(listening.locks[-1], settings.local_url)
        migrate_first()
        listening.tell(is_migrated=True)
        share_first_salts(settings)
        invitation = pending_address(settings)
        db.session.remove()
        db.engine.dispose()  # nothing of the database may be open when web processes are forked
        arguments = [f"--{name}={value}" for name, value in options.items()] + (
            [f"--role={role}"] if role else []
        )
        code = Serving(settings, role, listening, arguments).run(invitation)
    end_process(code)


@contextmanager
def take_over(settings: Settings, inherited: str) -> Iterator[Listening]:
    """Goes on with the socket of the `serve` that has started this one, and tells it what goes wrong."""
    listening = inherit(inherited, settings)
    leave_with_parent(listening.parent or os.getppid())
    try:
        require_additive()
        yield listening
    except Exception as error:
        listening.tell(
            problem=error.format_message() if isinstance(error, click.ClickException) else str(error)
        )
        raise


def share_first_salts(settings: Settings) -> None:
    """Fetches the daily salts before the first visitor comes. The worker does so again and again."""
    if store := salt_store(settings, db.engine):
        try:
            share_salts(settings.data_dir, store, now())
        except (OSError, SQLAlchemyError) as error:
            log.warning("The daily salt of other machines can't be fetched yet", error=str(error))


class Serving:
    """One generation: the web processes and the worker of a `serve`."""

    def __init__(
        self, settings: Settings, role: str | None, listening: Listening, options: list[str]
    ) -> None:
        self.settings, self.role, self.listening = settings, role, listening
        self.is_first = listening.report is None
        self.reloads = Reloads(control_path(settings.data_dir, role), options, listening)

    def run(self, invitation: str | None) -> int:
        """Serves until a signal comes, and returns an exit code.

        The worker is stopped last: it ingests what the web processes leave.
        """
        # large, and no other command needs them
        from app.cli.web import make_server, serve_until_end, warm

        log_uncaught()
        app = current_app.extensions[CREATE_APP](self.settings)
        warm(app, self.role)
        load_worker()
        share_memory()
        server = make_server(self.settings, self.listening)
        self.reloads.make_room = server.make_room
        signal.signal(HANDOVER, lambda *_: server.make_room())
        if self.is_first:
            server.when_ended, server.when_asked = self.reloads.end, self.reloads.ask
        self.listening.listen()
        ready, tell_ready = os.pipe()
        with out_of_reach():
            keeper = WorkerKeeper(ForkedProcess("waypost worker", work_under))
            keeper.start()
            threading.Thread(target=self.announce, args=(ready, invitation), daemon=True).start()
        if self.is_first:
            begin(self.reloads)
        try:
            serve_until_end(server, app, tell_ready)
        except SystemExit:  # web processes had failed, too
            if not server.is_replaced:
                raise
        finally:
            if self.is_first and not server.is_replaced:
                notify("STOPPING=1")
            keeper.stop()
        return self.reloads.stay()

    def announce(self, ready: int, invitation: str | None) -> None:
        """Says that the web processes are ready: to the log, the service manager and the predecessor."""
        for _ in range(self.settings.processes):
            os.read(ready, 1)
        announce(self.settings, invitation)
        if self.is_first:
            notify("READY=1")
        else:
            self.listening.tell(is_ready=True)


def share_memory() -> None:
    """Prepares for forks, which share what is in memory by now until they write to it.

    What the garbage collector looks at it also writes to, so it is told to leave all this alone.
    """
    gc.collect()
    gc.freeze()


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
