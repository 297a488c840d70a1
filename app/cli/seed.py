"""`flask seed`: makes a demo account with links of every kind and past clicks."""

# see docs/decisions/2026-11-20-seed-replaces-its-own-account.md
from __future__ import annotations

from random import Random

import click
from flask.cli import with_appcontext

from app.accounts import keys, setup
from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.cli.failures import Command, quiet_log
from app.core import clock
from app.core.database import begin_write
from app.core.extensions import db
from app.operations.database import migrate_first
from app.web.application import settings

MAX_LINKS, MAX_CLICKS, MAX_DAYS = 10_000, 1_000_000, 3650


@click.command("seed", cls=Command)
@click.option(
    "--email", default="demo@example.com", show_default=True, help="The e-mail address of the demo account."
)
@click.option("--links", type=click.IntRange(1, MAX_LINKS), default=40, show_default=True)
@click.option("--clicks", type=click.IntRange(0, MAX_CLICKS), default=20_000, show_default=True)
@click.option("--days", type=click.IntRange(1, MAX_DAYS), default=90, show_default=True)
@click.option(
    "--rng",
    type=int,
    default=1,
    show_default=True,
    help="Seed of the random numbers: the same number makes the same content.",
)
@with_appcontext
def seed(email: str, links: int, clicks: int, days: int, rng: int) -> None:
    """Make a demo account with links, pixels, handlers and past clicks; print its login and an API key.

    Run again, it replaces that account. Any other account with this address is left alone.
    """
    migrate_first()
    with quiet_log():  # lines for each pixel and handler would hide how to sign in
        user, password = furnish(email, links, clicks, days, Random(rng))  # noqa: S311  a story, no secret
        begin_write(db.session)
        _, key = keys.create_key(access_of(user), "Demo")
        db.session.commit()
    click.echo(f"Sign in:   {setup.known_site(settings())}/login")
    click.echo(f"E-mail:    {user.email}\nPassword:  {password}\nAPI key:   {key}")


def furnish(email: str, links: int, clicks: int, days: int, rng: Random) -> tuple[User, str]:
    """Makes the account with everything in it. Returns it and its password."""
    # pictures and all: no other command needs them
    from app.operations.demo import account, history, visits

    now = clock.now()
    user, password = account.begin_anew(checked(email), settings().data_dir)
    access = access_of(user)
    around = account.make_belongings(access, now, days)
    made = history.make_links(rng, access, links, around, settings())
    found = visits.past_visits(rng, made, clicks, now)
    history.take_in(found, made, settings())
    history.change_later(access, made, settings())
    bots = sum(visit.is_bot for visit in found)
    click.echo(
        f"{len(made):,} links, {len(found) - bots:,} clicks and {bots:,} visits of bots in {days:,} days"
    )
    return user, password


def checked(email: str) -> str:
    from app.accounts.forms import AddressForm
    from app.input.data import RequestData

    form = AddressForm(RequestData([("email", email)]), owner=None)
    form.require_valid()
    return str(form.email.data)
