"""`flask keys`: which API keys are there, and how are they made and revoked without a browser?"""

from __future__ import annotations

import re

import click

from app import clock
from app.accounts import keys as api_keys
from app.accounts.forms import MOST_DAYS, KeyForm
from app.accounts.models import ApiKey
from app.cli.database import migrate_first
from app.cli.failures import Group
from app.cli.tables import print_table
from app.cli.users import require_user
from app.database import begin_write
from app.extensions import db
from app.sent import Sent

ENOUGH = re.compile(r"wp_[0-9A-Za-z]{8,36}", re.ASCII)

keys = Group("keys", help="API keys: create, list, revoke.")


@keys.command("create")
@click.option("--email", required=True, help="Whose key.")
@click.option("--name", required=True, help="What it is for.")
@click.option("--scope", type=click.Choice(list(api_keys.SCOPES)), default="write", show_default=True)
@click.option("--expires", type=click.IntRange(1, MOST_DAYS), metavar="DAYS", help="Good for so many days.")
def create(email: str, name: str, scope: str, expires: int | None) -> None:
    """Create a key and print it. It is shown this once: only its SHA-256 is kept."""
    migrate_first()
    user = require_user(email)
    sent = Sent([("name", name), ("scope", scope), ("expires", str(expires or ""))])
    form = KeyForm(sent, owner=user)
    form.require_valid()
    begin_write(db.session)
    _, key = api_keys.create_key(user, **form.changes)
    db.session.commit()
    click.echo(key)


@keys.command("list")
@click.option("--email", help="Only this user's.")
def list_all(email: str | None) -> None:
    """List keys by what is readable of them, the newest first."""
    migrate_first()
    found = api_keys.list_keys(require_user(email) if email else None)
    print_table(
        ("KEY", "USER", "NAME", "SCOPE", "STATE", "EXPIRES", "LAST USED", "CREATED"), map(row_of, found)
    )


def row_of(key: ApiKey) -> tuple[str, ...]:
    times = [clock.written(t) or "" for t in (key.expires_datetime, key.last_datetime, key.datetime)]
    return key.prefix, key.user.email, key.name, key.scope, api_keys.state_of(key), *times


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
    db.session.commit()
    click.echo(f"Revoked {key.prefix}… ({key.name}, of {key.user.email})")


def the_only(found: list[ApiKey], prefix: str) -> ApiKey:
    if not found:
        raise click.ClickException(f"no key in force begins with {prefix[: api_keys.PREFIX_LENGTH]}")
    if len(found) > 1:
        named = ", ".join(f"{key.name} of {key.user.email}" for key in found)
        raise click.ClickException(f"more than one key begins so: {named}. Give the whole key.")
    return found[0]
