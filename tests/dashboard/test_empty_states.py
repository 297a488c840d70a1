"""Empty lists and reports: each says why it is empty and what to do next; and sample data to look around with."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import select

from app.accounts.models import User
from app.core.clock import now
from app.core.config import Settings
from app.core.extensions import db
from app.journal.codec import Visit
from app.journal.segments import directory_of
from app.links.models import Link, LinkChange
from app.projects.models import Project
from app.trash.models import Trashed
from tests.dashboard.conftest import Desk
from tests.past import take_in

FAMILIES = ("links", "projects", "domains", "pixels", "handlers")
# a query that matches nothing, and the address that shows everything
NOTHING: Mapping[str, str] = {
    **{f"/{name}/?search=zzz": f"/dashboard/{name}/" for name in FAMILIES},
    **{f"/{name}/?page=9": f"/dashboard/{name}/" for name in FAMILIES},
    "/trash/?page=9": "/dashboard/trash/",
    "/activity/?type=link.deleted": "/dashboard/activity/",
    "/handlers/{handler}/deliveries?status=failed": "/dashboard/handlers/{handler}/deliveries",
    "/handlers/{handler}/deliveries?page=9": "/dashboard/handlers/{handler}/deliveries",
    "/users/?search=zzz": "/dashboard/users/",
}
# queries that are not valid
WRONG = [f"/{name}/?order_by=colour" for name in FAMILIES] + [
    "/handlers/{handler}/deliveries?status=maybe",
    "/statistics/?period=never",
    "/activity/?type=link.seen",
]


@pytest.fixture
def rows(alice: User, factory: Any) -> dict[str, int]:
    """A link in a project, an empty project, and a handler; no link has a click."""
    project, empty = factory.project(alice, name="spring"), factory.project(alice, name="autumn")
    link = factory.link(alice, "one", project_id=project.id)
    handler = factory.handler(alice)
    return {"link": link.id, "project": project.id, "empty": empty.id, "handler": handler.id}


def shown(desk: Desk, path: str, status: int = 200) -> str:
    answer = desk.get(path)
    assert answer.status_code == status, path
    return html.unescape(answer.text)


def test_nothing_is_like_that(desk: Desk, rows: dict[str, int], alice: User, factory: Any) -> None:
    alice.is_admin = True
    factory.session.commit()
    for path, everything in NOTHING.items():
        page = shown(desk, path.format(**rows))
        assert f"<h2>{'No such user' if 'users' in path else 'Nothing found'}</h2>" in page, path
        assert f'class="button" href="{everything.format(**rows)}"' in page, path
        assert "is-first" not in page, path


def test_what_can_not_be_asked(desk: Desk, rows: dict[str, int]) -> None:
    for path in WRONG:
        page = shown(desk, path.format(**rows), 422)
        assert "can't be shown as asked" in page, path
        assert "is-first" not in page and "Nothing found" not in page, path


def test_visits_elsewhere_are_none_of_a_projects(
    desk: Desk, alice: User, factory: Any, rows: dict[str, int], settings: Settings
) -> None:
    owner, other, moment = alice.id, factory.link(alice, "other").id, int(now().timestamp() * 1000)
    factory.session.commit()
    take_in(settings, [Visit(moment, other, owner, is_bot=0)])
    assert "has clicks yet" in shown(desk, f"/projects/{rows['project']}/statistics/")
    assert "has clicks yet" not in shown(desk, "/statistics/")
    take_in(settings, [Visit(moment, rows["link"], owner, is_bot=0)])
    assert "has clicks yet" not in shown(desk, f"/projects/{rows['project']}/statistics/")


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
