"""How do the demo's links get their past? Through the forms, the services, the journal and the ingest."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from itertools import islice
from random import Random

import click
from sqlalchemy import func, select

from app.accounts.models import User
from app.cli.demo.kinds import every_kind
from app.cli.demo.links import Fields, Plan, Surroundings, bulk, everyday
from app.cli.demo.visits import Visited
from app.clicks.ingest import Ingest
from app.clicks.models import Click
from app.config import Settings
from app.database import begin_write
from app.errors import AliasTaken
from app.extensions import db
from app.journal.record import Visit, encode
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.links import services
from app.links.forms import LinkForm
from app.links.models import Link
from app.sent import Sent

IN_BULK = 3
SECONDS = 60


def make_links(
    rng: Random, user: User, count: int, around: Surroundings, settings: Settings
) -> list[Visited]:
    """Every kind as far as `count` goes, three in bulk, and everyday ones for the rest."""
    plans = list(islice(every_kind(around), count))
    made = [Visited(make(user, plan.fields, settings), plan, since(rng, plan, around)) for plan in plans]
    if count - len(made) >= IN_BULK:
        plan = Plan(bulk(), share=0.4)
        begun = since(rng, plan, around)
        made += [Visited(link, plan, begun) for link in make_bulk(user, plan.fields, settings)]
    for plan in everyday(rng, count - len(made), around):
        made.append(Visited(make(user, plan.fields, settings), plan, since(rng, plan, around)))
    date_back(made)
    return made


def since(rng: Random, plan: Plan, around: Surroundings) -> dt.datetime:
    """When the link was made: at the beginning where its story needs that, else some time after."""
    part = 1.0 if plan.until or plan.launch else rng.uniform(0.6, 1.0)
    return around.now - dt.timedelta(days=around.days) * part


def make(user: User, fields: Fields, settings: Settings) -> Link:
    """One link; where somebody has the alias, one like it."""
    form = checked(user, fields, settings)
    begin_write(db.session)
    try:
        link = services.create(user, form.changes)
    except AliasTaken:
        db.session.rollback()
        return make(user, {**fields, "url": f"{fields['url']}-{user.id}"}, settings)
    db.session.commit()
    return link


def make_bulk(user: User, fields: Fields, settings: Settings) -> list[Link]:
    form = checked(user, fields, settings)
    begin_write(db.session)
    found = services.create_bulk(user, form.changes)
    db.session.commit()
    return found


def checked(user: User, fields: Fields, settings: Settings, stored: Link | None = None) -> LinkForm:
    form = LinkForm(Sent(fields.items()), owner=user, stored=stored, settings=settings)
    form.require_valid()
    return form


def date_back(made: Sequence[Visited]) -> None:
    """Nobody can send when a link was made; it is set here, so that no click is older than its link."""
    begin_write(db.session)
    for one in made:
        one.link.datetime = one.since
    db.session.commit()


def change_later(user: User, made: Sequence[Visited], settings: Settings) -> None:
    """What the owner has set after the visits came: limits, an end, switched off."""
    for one in made:
        if one.plan.later:
            form = checked(user, one.plan.later, settings, stored=one.link)
            begin_write(db.session)
            services.update(one.link, form.changes)
            db.session.commit()


def take_in(visits: Sequence[Visit], made: Sequence[Visited], settings: Settings) -> None:
    """Write the visits to the journal and have them counted, by whoever is quicker: the worker or us."""
    journal = Journal(directory_of(settings.data_dir))
    dropped = sum(not journal.append(encode(visit)) for visit in visits)
    journal.close()
    if dropped:
        raise click.ClickException("the journal takes no more visits: is there space left?")
    ingest = Ingest(settings)
    try:
        fold(ingest, [one.link.id for one in made], len(visits))
    finally:
        ingest.close()


def fold(ingest: Ingest, links: Sequence[int], count: int) -> None:
    deadline = time.monotonic() + SECONDS
    while ingest.step() or taken_in(links) < count:
        if time.monotonic() > deadline:
            raise click.ClickException(
                f"the visits wait in the journal: {ingest.status().waits_for or 'it is busy'}"
            )
        time.sleep(0.01)
    ingest.tend()


def taken_in(links: Sequence[int]) -> int:
    db.session.rollback()  # what others have committed by now
    return db.session.scalar(select(func.count()).where(Click.link_id.in_(links))) or 0
