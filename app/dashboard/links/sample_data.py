"""Sample links with clicks of the last 30 days for new owners, and their removal."""

from __future__ import annotations

import datetime as dt
from random import Random

from flask import current_app, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import exists, select

from app.accounts.access import Access
from app.core import clock
from app.core.config import Settings
from app.core.database import begin_write
from app.core.errors import Conflict, FieldError
from app.core.extensions import db
from app.dashboard.links.rows import has_samples
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import current_access, workspace_id
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.links.history import note
from app.links.models import Link, LinkChange
from app.links.removal import erase
from app.operations.demo.links import DemoLink, named, targeted
from app.projects import services as projects
from app.projects.models import SAMPLES, Project

COLOR = "#7768ae"
KIND = "sample"  # the kind of change in the history of such a link
CLICKS, DAYS = 800, 30
NOBODY = 0  # the workspace of the sample's clicks: they count for their links, but in no total of a workspace


@blueprint.post("/samples/new", endpoint="samples_new")
def make() -> ResponseReturnValue:
    begin_write(db.session)
    if has_samples(current_access()):
        raise Conflict(FieldError(_l("The sample data is there already."), "conflict"))
    project = projects.create(current_access(), {"name": SAMPLES, "color": COLOR})
    db.session.commit()
    settings: Settings = current_app.config["WAYPOST"]
    fill(current_access(), project.id, settings)
    return rendering.redirect_with(
        _("The sample data is there. Its clicks come in a moment."), url_for("dashboard.links")
    )


@blueprint.post("/samples/remove", endpoint="samples_remove")
def remove() -> ResponseReturnValue:
    """Delete the sample data for good, without the trash."""
    begin_write(db.session)
    mine = select(LinkChange.link_id).where(
        LinkChange.workspace_id == workspace_id(), LinkChange.kind == KIND
    )
    erase(workspace_id(), db.session.scalars(mine).all())
    found = select(Project).where(Project.workspace_id == workspace_id(), Project.name == SAMPLES)
    for project in db.session.scalars(found):
        if not db.session.scalar(select(exists().where(Link.project_id == project.id))):
            projects.delete(project)
    db.session.commit()
    return rendering.redirect_with(_("The sample data is gone."), url_for("dashboard.links"))


def fill(access: Access, project_id: int, settings: Settings) -> None:
    """Create the links, and write clicks of the last days to the journal for the worker to ingest."""
    from app.operations.demo import history, visits  # here, for they load the ingest: nothing else needs it

    now = clock.now()
    since = now - dt.timedelta(days=DAYS)
    made = [
        visits.Visited(history.make_link(access, plan.fields, settings), plan, since)
        for plan in plans(project_id)
    ]
    history.date_back(made)
    begin_write(db.session)
    note([one.link for one in made], KIND)
    db.session.commit()
    past = visits.past_visits(Random(1), made, CLICKS, now)  # noqa: S311  sample data, no secret
    history.write_visits([visit._replace(workspace_id=NOBODY) for visit in past], settings)


def plans(project_id: int) -> list[DemoLink]:
    mail = {"utm_source": "newsletter", "utm_medium": "email", "utm_campaign": "spring"}
    fields = [
        DemoLink({**named("launch", "launch", _("Launch day")), "tags[0]": "launch"}, share=6, launch=True),
        DemoLink(
            {**named("newsletter", "spring", _("Spring newsletter")), **mail, "tags[0]": "mail"}, share=4
        ),
        DemoLink({**named("flyer", "tour", _("Flyer with a QR code")), "tags[0]": "print"}, share=2),
        DemoLink(targeted("shop", "country_code", {"DE": "de", "FR": "fr", "BR": "br"}), share=3),
        DemoLink(targeted("app", "os_name", {"iOS": "store/ios", "Android": "store/android"}), share=2),
        DemoLink(targeted("split", "rotation", {"70": "a", "30": "b"}), share=2),
    ]
    for plan in fields:
        plan.fields["project_id"] = str(project_id)
    return fields
