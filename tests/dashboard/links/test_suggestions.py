"""Suggestions of a destination in the form of a link, with JavaScript and without."""

from __future__ import annotations

import html
import io
import re

import pytest
from PIL import Image
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.core.extensions import db
from app.links import suggestions as links_suggestions
from app.links.models import Link
from tests.dashboard.conftest import HTMX, Desk
from tests.links.sites import serve_shop
from tests.notifications.peers import Peers

pytestmark = pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")

TITLE = "Tools & <b>more</b>"
HIDDEN = re.compile(r'<input type="hidden" name="((?:suggested|fetched)_[a-z_]+)" value="([^"]*)"')


@pytest.fixture
def shop(peers: Peers) -> str:
    return serve_shop(peers, html.escape(TITLE))


def panel(desk: Desk, url: str) -> str:
    found = desk.post("/links/suggestions", {"location_url": url}, headers=HTMX)
    assert found.status_code == 200
    return found.text


def hidden(text: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in HIDDEN.findall(text)}


def test_the_panel_has_a_button_for_each(desk: Desk, shop: str) -> None:
    text = panel(desk, shop)
    assert html.escape(TITLE) in text
    assert TITLE not in text
    assert re.findall(r'data-use="([a-z_]+)"', text) == [
        *("title", "cloaking_title", "cloaking_meta_description", "cloaking_opengraph", "cloaking_favicon")
    ]
    for path in re.findall(r'data-source="/dashboard([^"]+)"', text):
        found = desk.get(path)
        assert (found.status_code, found.mimetype) == (200, "image/png")
        assert Image.open(io.BytesIO(found.data)).format == "PNG"


def test_no_transaction_is_open_meanwhile(desk: Desk, shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def fetch(*_: object) -> links_suggestions.Suggestions:
        seen.append(db.session().in_transaction())
        return links_suggestions.Suggestions(title="x")

    monkeypatch.setattr(links_suggestions, "fetch_suggestions", fetch)
    panel(desk, shop)
    assert seen == [False]


def test_pictures_are_their_owners(desk: Desk, shop: str, bob: User) -> None:
    token = hidden(panel(desk, shop))["suggested_cloaking_opengraph"]
    assert desk.get(f"/links/suggestions/{token}x").status_code == 404
    other = Desk(desk.client, bob.email)
    desk.client.post("/logout", data={"csrf_token": desk.token()})
    other.sign_in()
    assert other.get(f"/links/suggestions/{token}").status_code == 404
    made = other.post(
        "/links/new", {"location_url": "https://a.example/", "fetched_cloaking_opengraph": token}
    )
    assert made.status_code == 422


# --- without JavaScript: the whole form goes back and forth


def test_without_scripts(desk: Desk, shop: str, session: scoped_session[Session]) -> None:
    typed = {"location_url": shop, "url": "mine", "notes": "typed before"}
    found = desk.post("/links/new", {**typed, "again": "fetch"})
    assert found.status_code == 200
    assert "typed before" in found.text
    carried = hidden(found.text)
    assert carried["suggested_title"] == TITLE
    found = desk.post("/links/new", {**typed, **carried, "again": "use:title"})
    assert f'value="{html.escape(TITLE)}"' in re.sub(r'<input type="hidden"[^>]+>', "", found.text)
    carried = hidden(found.text) | {"title": TITLE}
    found = desk.post("/links/new", {**typed, **carried, "again": "use:cloaking_opengraph"})
    carried = hidden(found.text) | {"title": TITLE}
    assert carried["fetched_cloaking_opengraph"] == carried["suggested_cloaking_opengraph"]
    # what is wrong elsewhere loses nothing of it
    found = desk.post("/links/new", {**typed, **carried, "url": "not an alias"})
    assert found.status_code == 422
    assert hidden(found.text) == {name: value for name, value in carried.items() if name != "title"}
    assert session.scalars(select(Link.id)).all() == []
    assert desk.post("/links/new", {**typed, **carried}).status_code == 303
    link = session.scalars(select(Link)).one()
    assert (link.url, link.title, link.notes) == ("mine", TITLE, "typed before")
    assert link.cloaking_opengraph
    assert link.cloaking_favicon is None
