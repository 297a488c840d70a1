"""Titles and pictures of a destination, fetched by a button."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.links.models import Link
from tests.browser.test_accessibility import sideways, violations
from tests.links.sites import serve_shop
from tests.notifications.peers import Peers

pytestmark = [
    pytest.mark.browser,
    pytest.mark.full,
    pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8"),
]

FETCH = "Fetch title and picture"
HEIGHTS = {1280: 800, 390: 844}


@pytest.fixture
def shop(peers: Peers) -> str:
    return serve_shop(peers, "Tools &amp; <!-- --> more")


def new_link(desk: Page, width: int = 1280) -> Locator:
    desk.set_viewport_size({"width": width, "height": HEIGHTS[width]})
    desk.get_by_role("link", name="Create link").first.click()
    dialog = desk.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def only_link(session: scoped_session[Session]) -> Link:
    session.rollback()
    return session.scalars(select(Link)).one()


@pytest.mark.parametrize("width", HEIGHTS)
def test_fetch_use_and_save(desk: Page, shop: str, session: scoped_session[Session], width: int) -> None:
    dialog = new_link(desk, width)
    dialog.get_by_label("Destination", exact=True).first.fill(shop)
    dialog.get_by_role("button", name=FETCH).click()
    panel = dialog.get_by_role("group", name="What 127.0.0.1 says about itself")
    expect(panel.get_by_text("For everybody")).to_be_visible()
    title = dialog.locator("[name=title]")
    expect(title).to_have_value("")  # nothing is filled in by itself
    assert violations(desk, "dialog") == []
    assert sideways(desk) == []
    panel.get_by_role("button", name="Use title").click()
    expect(title).to_have_value("Tools & <!-- --> more")
    expect(dialog.locator("summary", has_text="Organize")).to_contain_text("Tools &")
    panel.get_by_role("button", name="Use description").click()
    expect(dialog.locator("[name=cloaking_meta_description]")).to_have_value("For everybody")
    panel.get_by_role("button", name="Use picture").click()
    expect(dialog.locator("summary", has_text="Appearance")).to_contain_text("Social card")
    if width > 1000:  # the preview shows it before anything is saved
        expect(dialog.locator("img[data-card-picture]")).to_be_visible()
    dialog.get_by_role("button", name="Create link").click()
    expect(desk.get_by_text("is created.")).to_be_visible()
    link = only_link(session)
    assert (link.title, link.cloaking_meta_description) == ("Tools & <!-- --> more", "For everybody")
    assert link.cloaking_opengraph
    assert link.cloaking_title is None
