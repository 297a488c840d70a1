"""Commands of the profile: login, logout, whoami, profiles, completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from waypost_client.cli import profiles
from waypost_client.cli.command import Session, shared_options, way
from waypost_client.cli.options import read_secret
from waypost_client.cli.output import print_json, print_object, print_table
from waypost_client.client import Client
from waypost_client.errors import Forbidden

profile_option = click.option(
    "--profile", envvar=profiles.PROFILE, default=profiles.DEFAULT, show_default=True
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@way.command()
@click.argument("url")
@profile_option
@json_option
def login(url: str, profile: str, as_json: bool) -> None:
    """Stores a key of the Waypost at URL. It is asked for, or read from standard input."""
    key = read_secret("API key").strip()
    try:
        client = Client(url, key)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    with client:
        email = email_of(client)
    place = profiles.save(profiles.Profile(profile, client.driver.instance.base, key))
    if as_json:
        print_json({"profile": profile, "url": client.driver.instance.base, "email": email})
    else:
        said = f"Signed in as {email}." if email else "This key can only create links."
        click.echo(f"{said} The key is in {place}.")


def email_of(client: Client) -> str | None:
    """Whose key it is; None for one that only creates links, which does not say."""
    try:
        return client.account.user().email
    except Forbidden as error:
        if "create_only_key" in error.codes:
            return None
        raise


@way.command()
@profile_option
@json_option
def logout(profile: str, as_json: bool) -> None:
    """Forgets a profile and its key. The key itself goes on working until it is revoked."""
    profiles.forget(profile)
    if as_json:
        print_json({"profile": profile})


@way.command("profiles")
@json_option
def list_profiles(as_json: bool) -> None:
    """Lists the stored profiles."""
    found = {name: row["url"] for name, row in profiles.read_profiles().items()}
    if as_json:
        print_json([{"profile": name, "url": url} for name, url in found.items()])
    else:
        print_table(("profile", "url"), list(found.items()))


@way.command()
@shared_options
def whoami(session: Session) -> None:
    """Shows whose key it is."""
    print_object(session.client.account.user(), as_json=session.as_json)


@way.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Prints the completion for a shell: eval "$(way completion bash)"."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    click.echo(kind(way, {}, "way", "_WAY_COMPLETE").source())
