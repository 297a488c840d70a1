"""Options of commands that take a passphrase: prompted for at the terminal, or read from a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any, TypeVar

import click

MIN_LENGTH = 12

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
    if is_new and len(found) < MIN_LENGTH:
        raise click.UsageError(f"A passphrase has at least {MIN_LENGTH} characters.")
    return str(found)
