"""The command's groups and what all of them share: profile, client, JSON, and how errors end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from waypost_client import VERSION, Client
from waypost_client.cli import profiles
from waypost_client.cli.output import CONTROLS
from waypost_client.errors import WaypostError


@dataclass(frozen=True)
class Session:
    """What a command works with."""

    client: Client
    as_json: bool


class Group(click.Group):
    """A group whose commands end with 1, and with what is wrong, where the client fails."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WaypostError as error:
            lines = [CONTROLS.sub("?", line) for line in str(error).splitlines()]
            raise click.ClickException("\n".join(lines)) from error


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, message="%(version)s")
def way() -> None:
    """Manages the short links of a Waypost.

    LINK is a link's number, its alias or its short URL. Exit codes: 0 done, 1 failed, 2 wrong usage.
    """
    for line in profiles.renamed_variables():
        click.echo(line, err=True)


def shared_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: `--profile` and `--json`; the function gets a `Session` as its first argument."""

    @click.option(
        "--profile",
        envvar=profiles.PROFILE,
        default=profiles.DEFAULT,
        show_default=True,
        shell_complete=lambda _ctx, _param, text: [
            name for name in profiles.read_profiles() if name.startswith(text)
        ],
        help="Which instance and key.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @functools.wraps(function)
    def run(*arguments: Any, profile: str, as_json: bool, **options: Any) -> Any:
        with open_client(profile) as client:
            return function(Session(client, as_json), *arguments, **options)

    return run


def open_client(profile: str) -> Client:
    found = profiles.load(profile)
    try:
        return Client(found.url, found.key)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
