"""Two links with 600 known visits, for tests of statistics."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import NamedTuple

from app.accounts.models import User
from app.analytics.ingest import Ingest
from app.core import clock
from app.core.config import Settings
from app.journal.codec import Visit, encode
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.links.models import Link
from app.projects.models import Project
from tests.analytics.load import load
from tests.factories import Factory

DAYS = 12


class Past(NamedTuple):
    """Two links of one owner, the first in a project, and the visits to them."""

    owner: User
    project: Project
    first: Link
    second: Link
    visits: list[Visit]


def make_past(settings: Settings, owner: User, factory: Factory) -> Past:
    """600 visits on twelve days, none of them today: so counts do not change while a test runs."""
    owner.timezone = "Asia/Kolkata"
    project = factory.project(owner, name="Spring & more")
    begin = clock.now().replace(hour=0, minute=0, second=0) - dt.timedelta(days=DAYS + 1)
    first = factory.link(owner, "first", datetime=begin, project_id=project.id)
    second = factory.link(owner, "second", datetime=begin)
    visits = load(600, begin, DAYS, {owner.id: [first.id, second.id]}, Random(7))
    take_in(settings, visits)
    factory.session.rollback()
    return Past(owner, project, first, second, visits)


def take_in(settings: Settings, visits: list[Visit]) -> None:
    """Store the visits through the journal and the ingest, as any visit."""
    journal = Journal(directory_of(settings.data_dir))
    assert all(journal.append(encode(visit)) for visit in visits)
    journal.close()
    ingest = Ingest(settings)
    while ingest.step():
        pass
    ingest.close()
