"""How does an owner who has just come look around with links that have a past, and get rid of them again?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from random import Random

from flask import Blueprint, current_app, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import exists, select

from app import clock
from app.accounts.models import User
from app.cli.demo.links import Plan, named, targeted
from app.config import Settings
from app.dashboard import pages
from app.dashboard.guard import user
from app.dashboard.link_rows import has_samples
from app.database import begin_write
from app.errors import Conflict, FieldError
from app.extensions import db
from app.journal.record import Visit, encode
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.links.history import note
from app.links.models import Link, LinkChange
from app.links.removal import erase
from app.projects import services as projects
from app.projects.models import SAMPLES, Project

COLOR = "#7768ae"
KIND = "sample"  # what the history of such a link says
CLICKS, DAYS = 800, 30
NOBODY = 0  # owns the sample's visits: they count for their links, and in no total of the owner's


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/samples/new", "samples_new", make, methods=["POST"])
    blueprint.add_url_rule("/samples/remove", "samples_remove", remove, methods=["POST"])


def make() -> ResponseReturnValue:
    begin_write(db.session)
    if has_samples(user()):
        raise Conflict(FieldError("The sample data is there already.", "conflict"))
    project = projects.create(user(), {"name": SAMPLES, "color": COLOR})
    db.session.commit()
    settings: Settings = current_app.config["WAYPOST"]
    fill(user(), project.id, settings)
    return pages.sent_on("The sample data is there. Its clicks come in a moment.", url_for("dashboard.links"))


def remove() -> ResponseReturnValue:
    """For good: nobody looks for it in the trash."""
    begin_write(db.session)
    mine = select(LinkChange.link_id).where(LinkChange.user_id == user().id, LinkChange.kind == KIND)
    erase(user().id, db.session.scalars(mine).all())
    found = select(Project).where(Project.user_id == user().id, Project.name == SAMPLES)
    for project in db.session.scalars(found):
        if not db.session.scalar(select(exists().where(Link.project_id == project.id))):
            projects.delete(project)
    db.session.commit()
    return pages.sent_on("The sample data is gone.", url_for("dashboard.links"))


def fill(owner: User, project_id: int, settings: Settings) -> None:
    """Links with visits of the last days, which the worker takes in as it does all others."""
    from app.cli.demo import history, visits  # with the ingest and all: nothing else here needs them

    now = clock.now()
    since = now - dt.timedelta(days=DAYS)
    made = [
        visits.Visited(history.make(owner, plan.fields, settings), plan, since) for plan in plans(project_id)
    ]
    history.date_back(made)
    begin_write(db.session)
    note([one.link for one in made], KIND)
    db.session.commit()
    past = visits.past_visits(Random(1), made, CLICKS, now)  # noqa: S311  a story, no secret
    count([visit._replace(user_id=NOBODY) for visit in past], settings)


def plans(project_id: int) -> list[Plan]:
    mail = {"utm_source": "newsletter", "utm_medium": "email", "utm_campaign": "spring"}
    fields = [
        Plan({**named("launch", "launch", "Launch day"), "tags[0]": "launch"}, share=6, launch=True),
        Plan({**named("newsletter", "spring", "Spring newsletter"), **mail, "tags[0]": "mail"}, share=4),
        Plan({**named("flyer", "tour", "Flyer with a QR code"), "tags[0]": "print"}, share=2),
        Plan(targeted("shop", "country_code", {"DE": "de", "FR": "fr", "BR": "br"}), share=3),
        Plan(targeted("app", "os_name", {"iOS": "store/ios", "Android": "store/android"}), share=2),
        Plan(targeted("split", "rotation", {"70": "a", "30": "b"}), share=2),
    ]
    for plan in fields:
        plan.fields["project_id"] = str(project_id)
    return fields


def count(visits: Sequence[Visit], settings: Settings) -> None:
    journal = Journal(directory_of(settings.data_dir))
    try:
        for visit in visits:
            journal.append(encode(visit))
    finally:
        journal.close()
