"""How do tests of the statistics pages come by links with a past that is known?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pytest

from app import clock
from app.accounts.models import User
from app.clicks.ingest import Ingest
from app.config import Settings
from app.journal.record import Visit, encode
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.links.models import Link
from app.projects.models import Project
from tests.clicks.load import load

DAYS = 12


class Past(NamedTuple):
    """Alice's two links, the first in her project, and the visits to them."""

    owner: User
    project: Project
    first: Link
    second: Link
    visits: list[Visit]


def take_in(settings: Settings, visits: list[Visit]) -> None:
    """Through the journal and the ingest, as any visit."""
    journal = Journal(directory_of(settings.data_dir))
    assert all(journal.append(encode(visit)) for visit in visits)
    journal.close()
    ingest = Ingest(settings)
    while ingest.step():
        pass
    ingest.close()


@pytest.fixture
def past(settings: Settings, alice: User, make_link: Callable[..., Link], factory: Any, session: Any) -> Past:
    """600 visits of the last twelve days, none of them today: what is counted stays so while a test runs."""
    alice.timezone = "Asia/Kolkata"
    project = factory.project(alice, name="Spring & more")
    begin = clock.now().replace(hour=0, minute=0, second=0) - dt.timedelta(days=DAYS + 1)
    links = [
        make_link(alice, name, datetime=begin, project_id=project_id)
        for name, project_id in (("first", project.id), ("second", None))
    ]
    visits = load(600, begin, DAYS, {alice.id: [link.id for link in links]}, Random(7))
    take_in(settings, visits)
    session.rollback()
    return Past(alice, project, links[0], links[1], visits)
