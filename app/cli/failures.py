"""How does a command say what went wrong? In a sentence on stderr, with exit code 1; never by a traceback."""

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

from app.acting import Actor, process_actor
from app.cli.owner import explain_refusal, run_as_owner
from app.config import Settings
from app.errors import WaypostError


class Command(click.Command):
    """A command that runs as the instance's owner, and whose expected failures are told as sentences.

    Files that are opened while the command line is read (`click.File`) are opened as whoever started it.
    """

    is_writing = True

    def invoke(self, ctx: click.Context) -> Any:
        settings: Settings = ctx.ensure_object(ScriptInfo).load_app().config["WAYPOST"]
        owner = run_as_owner(settings.data_dir, is_writing=self.is_writing)
        try:
            return super().invoke(ctx)
        except PermissionError as error:
            if owner is None:
                raise told(error) from error
            raise click.ClickException(explain_refusal(error, owner, settings.data_dir)) from error
        except (WaypostError, DBAPIError, OSError) as error:
            raise told(error) from error


class ReadingCommand(Command):
    """A command that changes nothing, so that it may run where nothing can be written."""

    is_writing = False


class OperatorCommand(Command):
    """A command whose changes the audit log ascribes to whoever runs it."""

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
    """Commands of that kind, each in an application context."""

    def command(self, *args: Any, **kwargs: Any) -> Any:
        return super().command(*args, **{"cls": OperatorCommand, **kwargs})


def login_name() -> str:
    """Of the person at the machine, also behind sudo."""
    try:
        return os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's user without a name
        return str(os.getuid())


def told(error: WaypostError | DBAPIError | OSError) -> Exception:
    if isinstance(error, WaypostError):
        lines = [f"{e.field}: {e.title}" if e.field else e.title for e in error.errors]
        return click.ClickException("\n".join(lines))
    if isinstance(error, DBAPIError):
        return click.ClickException(f"the database does not do this: {error.orig}")
    if error.errno == errno.EPIPE:
        return error  # whoever read our output has gone: click ends quietly then
    return click.ClickException(str(error))
