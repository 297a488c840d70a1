"""`flask seed`: how does one come by an account to look around in, with links of every kind and a past?"""

from __future__ import annotations

from random import Random

import click
from flask.cli import with_appcontext

from app import clock
from app.accounts import keys, setup
from app.accounts.models import User
from app.cli.database import migrate_first, settings
from app.cli.failures import Command
from app.database import begin_write
from app.extensions import db

MOST_LINKS, MOST_CLICKS, MOST_DAYS = 10_000, 1_000_000, 3650


@click.command("seed", cls=Command)
@click.option("--email", default="demo@example.com", show_default=True, help="Of the demo account.")
@click.option("--links", type=click.IntRange(1, MOST_LINKS), default=40, show_default=True)
@click.option("--clicks", type=click.IntRange(0, MOST_CLICKS), default=20_000, show_default=True)
@click.option("--days", type=click.IntRange(1, MOST_DAYS), default=90, show_default=True)
@click.option("--rng", type=int, default=1, show_default=True, help="The same number makes the same content.")
@with_appcontext
def seed(email: str, links: int, clicks: int, days: int, rng: int) -> None:
    """Make a demo account with links, pixels, handlers and past clicks; print its login and an API key.

    Run again, it replaces that account. Any other account with this address is left alone.
    """
    migrate_first()
    user, password = furnish(email, links, clicks, days, Random(rng))  # noqa: S311  a story, no secret
    begin_write(db.session)
    _, key = keys.create_key(user, "Demo")
    db.session.commit()
    click.echo(f"Sign in:   {setup.site(settings())}/login")
    click.echo(f"E-mail:    {user.email}\nPassword:  {password}\nAPI key:   {key}")


def furnish(email: str, links: int, clicks: int, days: int, rng: Random) -> tuple[User, str]:
    """The account with everything in it, and its password."""
    from app.cli.demo import (
        account,
        belongings,
        history,
        visits,
    )  # pictures and all: no other command needs them

    now = clock.now()
    user, password = account.begin_anew(checked(email), settings().data_dir)
    around = belongings.make_belongings(user, now, days)
    made = history.make_links(rng, user, links, around, settings())
    found = visits.past_visits(rng, made, clicks, now)
    history.take_in(found, made, settings())
    history.change_later(user, made, settings())
    bots = sum(visit.is_bot for visit in found)
    click.echo(
        f"{len(made):,} links, {len(found) - bots:,} clicks and {bots:,} visits of bots in {days:,} days"
    )
    return user, password


def checked(email: str) -> str:
    from app.accounts.forms import AddressForm
    from app.sent import Sent

    form = AddressForm(Sent([("email", email)]), owner=None)
    form.require_valid()
    return str(form.email.data)
