"""Options of the commands for backups: passphrases, and the backup to read."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, Any, TypeVar

import click

from app.core.storage_settings import MIN_PASSPHRASE, S3
from app.operations.backups.stores import LATEST, NAME

F = TypeVar("F", bound=Callable[..., Any])


def passphrase_options(purpose: str) -> Callable[[F], F]:
    """Adds `--passphrase`, which prompts, and `--passphrase-file`, which reads the first line of a file."""

    def add(command: F) -> F:
        file = click.option(
            "--passphrase-file",
            type=click.File(encoding="utf-8"),
            help="The same, with the passphrase from the first line of a file.",
        )
        asked = click.option("--passphrase", is_flag=True, help=f"{purpose}; the command asks for it.")
        return asked(file(command))

    return add


def read_passphrase(*, is_asked: bool, file: IO[str] | None, is_new: bool) -> str | None:
    """The passphrase; None where neither option was given.

    `is_new`: it is prompted for twice, and must be long.
    """
    if is_asked and file is not None:
        raise click.UsageError("Either --passphrase or --passphrase-file.")
    if is_asked:
        found = click.prompt("Passphrase", hide_input=True, confirmation_prompt=is_new, err=True)
    elif file is not None:
        found = file.read().partition("\n")[0].rstrip("\r")
    else:
        return None
    if is_new and len(found) < MIN_PASSPHRASE:
        raise click.UsageError(f"A passphrase has at least {MIN_PASSPHRASE} characters.")
    return str(found)


class BackupSource(click.ParamType[Any]):
    """A backup: a file, which is opened at once; else `latest`, a name in BACKUP_TO, or s3://bucket/name."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or value == LATEST or value.startswith(S3):
            return value
        try:
            opened = click.File("rb").convert(value, param, ctx)
        except click.BadParameter:
            if NAME.fullmatch(value):
                return value
            raise
        return buffered(opened)


def buffered(opened: IO[bytes]) -> io.BufferedReader:
    found: Any = getattr(opened, "_file", opened)  # click's proxy of standard input
    return found if isinstance(found, io.BufferedReader) else io.BufferedReader(found)
