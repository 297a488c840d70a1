"""Options of commands, made of the operations' typed arguments, so that a new field needs no code here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

import click

from waypost_client.calls import Upload
from waypost_client.fields import ClickFilter, Ids, Picture, Texts

# read from a prompt or from standard input: the arguments of a process can be seen by others
SECRETS = frozenset(
    {
        *("password", "chat_a", "chat_b", "chat_c", "chat_d", "google_chat", "mattermost", "pushover"),
        *("pushover_user_key", "gotify_token", "matrix_token", "ntfy_token"),
    }
)


class PictureFile(click.ParamType[Any]):
    """A picture's file; an empty text removes the picture."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "" or isinstance(value, Upload):
            return value
        try:
            return Upload.read(value)
        except OSError as error:
            self.fail(f"{value}: {error.strerror}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        return click.Path().shell_complete(ctx, param, incomplete)


class JsonObject(click.ParamType[Any]):
    """An object as JSON; an empty text clears the field."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "" or isinstance(value, dict):
            return value or None
        try:
            found = json.loads(value)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            self.fail(f"{value!r} is no object in JSON, such as {{}}", param, ctx)
        return found


class Secret(click.ParamType[Any]):
    """`-` asks for it, or reads it from standard input; an empty text clears it."""

    name = "-"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            return value
        if value != "-":
            option = param.opts[0] if param else "it"
            self.fail(
                f"Write {option} -, and it is asked for: others can see a command's arguments.", param, ctx
            )
        return read_secret((param.name if param and param.name else "secret").replace("_", " "))


def read_secret(what: str) -> str:
    """A secret from the terminal, without showing it, or the first line of standard input."""
    if sys.stdin.isatty():
        found: str = click.prompt(f"The {what}", hide_input=True, err=True)
        return found
    found = sys.stdin.readline().rstrip("\r\n")
    if not found:
        raise click.UsageError(f"The {what} is expected on standard input.")
    return found


class KeyAndUrl(click.ParamType[Any]):
    """`KEY=URL`, a pair of targeting."""

    name = "key=url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        key, equals, url = value.partition("=")
        if not equals:
            self.fail(f"{value!r} is not KEY=URL, such as DE=https://example.de/", param, ctx)
        return key, url


def option_of(name: str, hint: Any) -> click.Option:
    """The option of one field; it is None, or an empty tuple, where it was not given."""
    flag = f"--{name.replace('_', '-')}"
    if name in SECRETS:
        return click.Option([flag, name], type=Secret())
    if hint is bool:
        return click.Option([f"{flag}/--no-{flag[2:]}", name], default=None)
    if hint == ClickFilter | None:
        return click.Option([flag, name], type=JsonObject(), metavar="JSON")
    if hint == Picture:
        return click.Option([flag, name], type=PictureFile())
    if hint in (Texts, Ids):
        return click.Option([flag, name], multiple=True, metavar="ID" if hint == Ids else "TEXT")
    # the server checks numbers and times: it names every bad field at once, and an empty text clears
    return click.Option([flag, name], metavar="NUMBER" if hint in (int, int | None) else "TEXT")


def field_options(kind: Any, *left_out: str) -> Iterator[click.Option]:
    for name, hint in get_type_hints(kind).items():
        if name not in left_out:
            yield option_of(name, hint)


def options_of(kind: Any, *left_out: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the command has an option for each field of these typed arguments."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        made = getattr(function, "__click_params__", [])
        function.__click_params__ = [*reversed(list(field_options(kind, *left_out))), *made]  # type: ignore[attr-defined]
        return function

    return decorate


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The fields that the caller gave."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in options.items()
        if value is not None and value != ()
    }
