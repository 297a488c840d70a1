"""`flask keys`: creates, lists and revokes API keys."""

from __future__ import annotations

import re

import click

from app.accounts import keys as api_keys
from app.accounts.forms import MAX_DAYS, KeyForm
from app.accounts.models import ApiKey
from app.accounts.workspaces import access_of
from app.cli.failures import Group
from app.cli.tables import print_table
from app.cli.users import require_user
from app.core import clock
from app.core.database import begin_write
from app.core.extensions import db
from app.events.subscriptions.ending import end_over
from app.input.data import RequestData
from app.operations.database import migrate_first

ENOUGH = re.compile(r"wp_[0-9A-Za-z]{8,36}", re.ASCII)

keys = Group("keys", help="API keys: create, list, revoke.")


@keys.command("create")
@click.option("--email", required=True, help="The user's e-mail address.")
@click.option("--name", required=True, help="A name for the key.")
@click.option("--scope", type=click.Choice(list(api_keys.SCOPES)), default="write", show_default=True)
@click.option("--members", is_flag=True, help="Let the key invite, change and remove members.")
@click.option(
    "--expires", type=click.IntRange(1, MAX_DAYS), metavar="DAYS", help="Days until the key expires."
)
def create(email: str, name: str, scope: str, members: bool, expires: int | None) -> None:
    """Create a key and print it. It is shown only once: its SHA-256 alone is stored."""
    migrate_first()
    user = require_user(email)
    typed = {
        "name": name,
        "scope": scope,
        "changes_members": str(int(members)),
        "expires": str(expires or ""),
    }
    sent = RequestData(list(typed.items()))
    form = KeyForm(sent, owner=user)
    form.require_valid()
    begin_write(db.session)
    _, key = api_keys.create_key(access_of(user), **form.changes)
    db.session.commit()
    click.echo(key)


@keys.command("list")
@click.option("--email", help="List only this user's keys.")
def list_all(email: str | None) -> None:
    """List keys by their readable prefix, the newest first."""
    migrate_first()
    found = api_keys.list_keys(require_user(email) if email else None)
    print_table(
        ("KEY", "USER", "NAME", "SCOPE", "STATE", "EXPIRES", "LAST USED", "CREATED"), map(row_of, found)
    )


def row_of(key: ApiKey) -> tuple[str, ...]:
    times = [clock.format_utc(t) or "" for t in (key.expires_datetime, key.last_datetime, key.datetime)]
    scope = f"{key.scope}+members" if key.changes_members else key.scope
    return key.prefix, key.user.email, key.name, scope, api_keys.state_of(key), *times


@keys.command("revoke")
@click.argument("prefix")
def revoke(prefix: str) -> None:
    """Revoke the key that begins with PREFIX: `wp_` and at least 8 characters more."""
    if not ENOUGH.fullmatch(prefix):
        raise click.BadParameter("give `wp_` and at least 8 characters more.", param_hint="PREFIX")
    migrate_first()
    begin_write(db.session)
    key = the_only(api_keys.unrevoked_like(prefix), prefix)
    api_keys.revoke_key(key)
    end_over(db.session)
    db.session.commit()
    click.echo(f"Revoked {key.prefix}… ({key.name}, of {key.user.email})")


def the_only(found: list[ApiKey], prefix: str) -> ApiKey:
    if not found:
        raise click.ClickException(f"no active key begins with {prefix[: api_keys.PREFIX_LENGTH]}")
    if len(found) > 1:
        named = ", ".join(f"{key.name} of {key.user.email}" for key in found)
        raise click.ClickException(f"more than one key has this prefix: {named}. Give the whole key.")
    return found[0]
