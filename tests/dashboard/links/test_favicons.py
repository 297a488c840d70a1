"""Icons of destinations in the list of links, and who may see them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.links.models import Favicon, Link
from tests.dashboard.conftest import Desk
from tests.links.sites import ICON

IMAGE = re.compile(r'<img class="site" src="/dashboard([^"]+)" alt="" width="20" height="20" loading="lazy"')


@pytest.fixture
def iconed(session: scoped_session[Session], alice: User, bob: User, make_link: Callable[..., Link]) -> Link:
    """A link whose site has an icon, beside one whose site has none. Bob's icon is another."""
    link = make_link(alice, location_url="https://a.example/x")
    make_link(alice, location_url="https://b.example/x")
    for user, name in ((alice, "aaaa"), (bob, "bbbb")):
        session.add(
            Favicon(**access_of(user).row_columns, site="https://a.example", content=ICON, digest=name)
        )
    session.commit()
    return link


@pytest.mark.usefixtures("iconed")
def test_the_list_has_the_icon_of_its_own_copy(desk: Desk) -> None:
    [path] = IMAGE.findall(desk.get("/links/").text)
    found = desk.get(path)
    assert (found.status_code, found.mimetype, found.data) == (200, "image/png", ICON)
    assert "immutable" in found.headers["Cache-Control"]
    assert "private" in found.headers["Cache-Control"]


@pytest.mark.usefixtures("iconed")
def test_others_icons_are_not_there(desk: Desk, session: scoped_session[Session], bob: User) -> None:
    id_ = session.scalar(select(Favicon.id).where(Favicon.workspace_id == access_of(bob).workspace_id))
    assert desk.get(f"/links/icons/{id_}-bbbb.png").status_code == 404
    assert desk.get(f"/links/icons/{id_}-aaaa.png").status_code == 404
    assert desk.get("/links/icons/999-aaaa.png").status_code == 404


@pytest.mark.usefixtures("iconed")
def test_an_owner_who_wants_none_sees_none(desk: Desk, session: scoped_session[Session], alice: User) -> None:
    session.execute(update(User).where(User.id == alice.id).values(fetches_favicons=False))
    session.commit()
    assert IMAGE.findall(desk.get("/links/").text) == []
