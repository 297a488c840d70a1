"""Links of the demo and their past clicks, made by the forms, the services, the journal and the ingest."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from itertools import islice
from random import Random

import click
from sqlalchemy import func, select

from app.accounts.access import Access
from app.analytics.ingest import Ingest
from app.analytics.models import Click
from app.core.config import Settings
from app.core.database import begin_write
from app.core.errors import AliasTaken
from app.core.extensions import db
from app.input.data import RequestData
from app.journal.codec import Visit, encode
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.links import services
from app.links.forms import LinkForm
from app.links.models import Link
from app.operations.demo.links import DemoLink, Fields, Surroundings, bulk, every_kind, everyday
from app.operations.demo.visits import Visited

IN_BULK = 3
SECONDS = 60


def make_links(
    rng: Random, access: Access, count: int, around: Surroundings, settings: Settings
) -> list[Visited]:
    """Makes a link of every kind as far as `count` goes, three in bulk, and everyday ones for the rest."""
    plans = list(islice(every_kind(around), count))
    made = [
        Visited(make_link(access, plan.fields, settings), plan, since(rng, plan, around)) for plan in plans
    ]
    if count - len(made) >= IN_BULK:
        plan = DemoLink(bulk(), share=0.4)
        begun = since(rng, plan, around)
        made += [Visited(link, plan, begun) for link in make_bulk(access, plan.fields, settings)]
    for plan in everyday(rng, count - len(made), around):
        made.append(Visited(make_link(access, plan.fields, settings), plan, since(rng, plan, around)))
    date_back(made)
    return made


def since(rng: Random, plan: DemoLink, around: Surroundings) -> dt.datetime:
    """When the link was made: at the beginning where its visits need that, else some time after."""
    part = 1.0 if plan.until or plan.launch else rng.uniform(0.6, 1.0)
    return around.now - dt.timedelta(days=around.days) * part


def make_link(access: Access, fields: Fields, settings: Settings) -> Link:
    """Makes one link; where the alias is taken, with another one like it."""
    form = check_form(access, fields, settings)
    begin_write(db.session)
    try:
        link = services.create(access, form.changes)
    except AliasTaken:
        db.session.rollback()
        return make_link(access, {**fields, "url": f"{fields['url']}-{access.user.id}"}, settings)
    db.session.commit()
    return link


def make_bulk(access: Access, fields: Fields, settings: Settings) -> list[Link]:
    form = check_form(access, fields, settings)
    begin_write(db.session)
    found = services.create_bulk(access, form.changes)
    db.session.commit()
    return found


def check_form(access: Access, fields: Fields, settings: Settings, stored: Link | None = None) -> LinkForm:
    form = LinkForm(RequestData(fields.items()), owner=access, stored=stored, settings=settings)
    form.require_valid()
    return form


def date_back(made: Sequence[Visited]) -> None:
    """Sets when each link was made, so that no click is older than its link. No form takes that time."""
    begin_write(db.session)
    for one in made:
        one.link.datetime = one.since
    db.session.commit()


def change_later(access: Access, made: Sequence[Visited], settings: Settings) -> None:
    """Sets what the owner changes after the visits: a limit, an end date, switched off."""
    for one in made:
        if one.plan.later:
            form = check_form(access, one.plan.later, settings, stored=one.link)
            begin_write(db.session)
            services.update(one.link, form.changes)
            db.session.commit()


def take_in(visits: Sequence[Visit], made: Sequence[Visited], settings: Settings) -> None:
    """Writes the visits to the journal, and waits until the worker or this process has ingested them."""
    if write_visits(visits, settings):
        raise click.ClickException("the journal takes no more visits: is there space left?")
    ingest = Ingest(settings)
    try:
        ingest_visits(ingest, [one.link.id for one in made], len(visits))
    finally:
        ingest.close()


def write_visits(visits: Sequence[Visit], settings: Settings) -> int:
    """Write the visits to the journal, and return how many it does not take."""
    journal = Journal(directory_of(settings.data_dir))
    try:
        return sum(not journal.append(encode(visit)) for visit in visits)
    finally:
        journal.close()


def ingest_visits(ingest: Ingest, links: Sequence[int], count: int) -> None:
    deadline = time.monotonic() + SECONDS
    # (in ClickHouse they are no rows here, but nothing waits any more)
    while ingest.step() or (taken_in(links) < count and ingest.status().rows.waiting_bytes):
        if time.monotonic() > deadline:
            raise click.ClickException(
                f"the visits wait in the journal: {ingest.status().waits_for or 'it is busy'}"
            )
        time.sleep(0.01)
    ingest.tend()


def taken_in(links: Sequence[int]) -> int:
    db.session.rollback()  # what others have committed by now
    return db.session.scalar(select(func.count()).where(Click.link_id.in_(links))) or 0
