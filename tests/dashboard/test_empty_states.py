"""Empty lists and reports: each says why it is empty, and what to do next."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import pytest

from app.accounts.models import User
from app.core.clock import now
from app.core.config import Settings
from app.journal.codec import Visit
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
