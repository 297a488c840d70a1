"""Command classes that report expected failures as a sentence on stderr with exit code 1, no traceback."""

from __future__ import annotations

import errno
import logging
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from flask.cli import AppGroup, ScriptInfo
from sqlalchemy.exc import DBAPIError

from app.core.actor import Actor, process_actor
from app.core.config import Settings
from app.core.database_damage import is_damage
from app.core.errors import WaypostError
from app.operations.owner import explain_refusal, make_data_dir, run_as_owner


class Command(click.Command):
    """A command that runs as the instance's owner and reports expected failures as sentences.

    Files that are opened while the command line is read (`click.File`) are opened as the user who started it.
    """

    is_writing = True

    def invoke(self, ctx: click.Context) -> Any:
        settings: Settings = ctx.ensure_object(ScriptInfo).load_app().config["WAYPOST"]
        if self.is_writing:
            make_data_dir(settings.data_dir)
        owner = run_as_owner(settings.data_dir, is_writing=self.is_writing)
        try:
            return super().invoke(ctx)
        except PermissionError as error:
            if owner is None:
                raise command_error(error) from error
            raise click.ClickException(explain_refusal(error, owner, settings.data_dir)) from error
        except (WaypostError, DBAPIError, OSError) as error:
            raise command_error(error) from error


class ReadingCommand(Command):
    """A command that changes nothing, so that it may run where the data directory can't be written."""

    is_writing = False


class OperatorCommand(Command):
    """A command whose changes the audit log ascribes to the operator who runs it."""

    def invoke(self, ctx: click.Context) -> Any:
        with process_actor(Actor("command", login_name())), quiet_log():
            return super().invoke(ctx)


@contextmanager
def quiet_log() -> Iterator[None]:
    """Log nothing below a warning: stderr is for what went wrong. The audit log has its rows all the same."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.setLevel(before)


class Group(AppGroup):
    """A group of operator commands, each in an application context."""

    def command(self, *args: Any, **kwargs: Any) -> Any:
        return super().command(*args, **{"cls": OperatorCommand, **kwargs})


def login_name() -> str:
    """The login name of the operator, also behind sudo."""
    try:
        return os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's user without a name
        return str(os.getuid())


def command_error(error: WaypostError | DBAPIError | OSError) -> Exception:
    if isinstance(error, WaypostError):
        lines = [f"{e.field}: {e.title}" if e.field else str(e.title) for e in error.errors]
        return click.ClickException("\n".join(lines))
    if isinstance(error, DBAPIError) and error.orig is not None and is_damage(error.orig):
        # it names no file: SQLite may report the wrong one of the two
        return click.ClickException(
            "The database is damaged. Look with `./waypost doctor`; restore a backup."
        )
    if isinstance(error, DBAPIError):
        return click.ClickException(f"the database does not do this: {error.orig}")
    if error.errno == errno.EPIPE:
        return error  # the reader of our output has gone: click ends quietly then
    return click.ClickException(str(error))
