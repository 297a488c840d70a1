"""First steps: set-up, the first short link, and loading and removing sample data."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from app.accounts.models import User
from app.core.extensions import db
from app.journal.segments import directory_of
from app.links.models import Link, LinkChange
from app.projects.models import Project
from app.trash.models import Trashed
from tests.dashboard.conftest import Desk


def all_of(model: Any) -> list[Any]:
    db.session.rollback()
    return list(db.session.scalars(select(model)))


def test_sample_data_comes_and_goes(desk: Desk, alice: User, make_link: Any, settings: Any) -> None:
    assert "Look around with sample data" in desk.get("/links/").text
    page = desk.post("/samples/new", {}, follow_redirects=True).text
    assert "The sample data is there." in page
    assert "Launch day" in page
    assert len(all_of(Link)) == 6
    assert sum(path.stat().st_size for path in directory_of(settings.data_dir).glob("*.v*")) > 50_000
    assert desk.post("/samples/new", {}).status_code == 409
    own = make_link(alice, "mine", project_id=all_of(Project)[0].id)
    own_id = own.id
    desk.post("/samples/remove", {})
    assert [link.id for link in all_of(Link)] == [own_id]
    assert len(all_of(Project)) == 1  # it holds a link of the owner's own
    db.session.delete(db.session.get_one(Link, own_id))
    db.session.commit()
    assert "The sample data is gone." in desk.post("/samples/remove", {}, follow_redirects=True).text
    assert all_of(Project) == all_of(Trashed) == all_of(LinkChange) == []
    desk.post("/samples/new", {})
    assert len(all_of(Link)) == 6
