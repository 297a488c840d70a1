"""Titles and pictures of a destination, fetched by a button; icons of destinations in the list."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.links import suggestions
from app.links.models import Favicon, Link
from tests.browser.conftest import wait_until
from tests.browser.test_accessibility import seen, sideways, violations
from tests.links.sites import ICON, redirect, serve, serve_shop
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


def test_by_keys(desk: Page, shop: str, session: scoped_session[Session]) -> None:
    dialog = new_link(desk)
    destination = dialog.get_by_label("Destination", exact=True).first
    expect(destination).to_be_focused()
    desk.keyboard.type(shop)
    desk.keyboard.press("Tab")
    expect(dialog.get_by_role("button", name=FETCH)).to_be_focused()
    desk.keyboard.press("Enter")
    used = dialog.get_by_role("button", name="Use as card title")
    expect(used).to_be_visible()
    expect(dialog.get_by_role("button", name=FETCH)).to_be_focused()
    desk.keyboard.press("Tab")
    desk.keyboard.press("Tab")
    expect(used).to_be_focused()
    desk.keyboard.press("Space")
    expect(dialog.locator("[name=cloaking_title]")).to_have_value("Tools & <!-- --> more")
    destination.press("Enter")  # saves, and presses no button of the panel
    expect(desk.get_by_text("is created.")).to_be_visible()
    link = only_link(session)
    assert (link.title, link.cloaking_title) == (None, "Tools & <!-- --> more")


def test_fetching_alone_is_nothing_that_closing_asks_about(desk: Page, shop: str, site: str) -> None:
    desk.goto(f"{site}/dashboard/links/new?location_url={shop}")
    desk.get_by_role("button", name=FETCH).click()
    expect(desk.get_by_role("button", name="Use title")).to_be_visible()
    desk.once("dialog", lambda _: pytest.fail("the page asked"))
    desk.get_by_role("link", name="Cancel").click()
    expect(desk).to_have_url(f"{site}/dashboard/links/")


@pytest.mark.parametrize("width", HEIGHTS)
def test_an_error_is_shown_and_mended(desk: Page, shop: str, peers: Peers, width: int) -> None:
    into_the_net = serve(peers, {"/": redirect("http://10.1.2.3/")}, host="127.0.0.2").url
    dialog = new_link(desk, width)
    dialog.get_by_role("button", name=FETCH).click()
    expect(dialog.get_by_text("Enter a destination first.")).to_be_visible()
    destination = dialog.get_by_label("Destination", exact=True).first
    destination.fill(into_the_net)
    dialog.get_by_role("button", name=FETCH).click()
    expect(dialog.get_by_text("The destination can't be reached from here.")).to_be_visible()
    assert sideways(desk) == []
    destination.fill(shop)
    dialog.get_by_role("button", name=FETCH).click()
    expect(dialog.get_by_text("For everybody")).to_be_visible()
    expect(dialog.get_by_text("can't be reached")).to_have_count(0)


def test_a_picture_that_is_gone_meanwhile_is_said(
    desk: Page, shop: str, monkeypatch: pytest.MonkeyPatch, watch: object
) -> None:
    dialog = new_link(desk)
    dialog.get_by_label("Destination", exact=True).first.fill(shop)
    dialog.get_by_role("button", name=FETCH).click()
    expect(dialog.get_by_role("button", name="Use picture")).to_be_visible()
    monkeypatch.setattr(suggestions, "kept_picture", lambda *_: None)
    dialog.get_by_role("button", name="Use picture").click()
    expect(desk.get_by_text("The picture is not there any more.")).to_be_visible()
    complaints = watch.complaints  # type: ignore[attr-defined]
    assert [text for text in complaints if "404" not in text] == []
    complaints.clear()


def test_a_stored_link(
    desk: Page,
    shop: str,
    site: str,
    alice: User,
    make_link: Callable[..., Link],
    session: scoped_session[Session],
) -> None:
    link = make_link(alice, location_url=shop, title="Old")
    desk.goto(f"{site}/dashboard/links/{link.id}")
    desk.get_by_role("button", name=FETCH).click()
    desk.get_by_role("button", name="Use title").click()
    assert seen(desk) == {}
    desk.get_by_role("button", name="Save link").click()
    expect(desk.get_by_text("is saved.")).to_be_visible()
    assert only_link(session).title == "Tools & <!-- --> more"


def test_without_javascript(
    browser: Browser,
    alice: User,
    shop: str,
    site: str,
    sign_in: Callable[[BrowserContext, User], Page],
    session: scoped_session[Session],
) -> None:
    context = browser.new_context(java_script_enabled=False)
    desk = sign_in(context, alice)
    desk.goto(f"{site}/dashboard/links/new")
    desk.get_by_label("Destination", exact=True).first.fill(shop)
    desk.get_by_label("Short link").fill("mine")
    desk.get_by_role("button", name=FETCH).click()
    desk.get_by_role("button", name="Use title").click()
    desk.get_by_role("button", name="Use picture").click()
    expect(desk.get_by_text("is used when you save")).to_be_visible()
    expect(desk.get_by_label("Short link")).to_have_value("mine")
    desk.get_by_role("button", name="Create link").last.click()
    expect(desk.get_by_text("is created.")).to_be_visible()
    link = only_link(session)
    assert (link.url, link.title) == ("mine", "Tools & <!-- --> more")
    assert link.cloaking_opengraph
    context.close()


@pytest.mark.parametrize("width", HEIGHTS)
def test_icons_in_the_list(
    desk: Page,
    alice: User,
    make_link: Callable[..., Link],
    session: scoped_session[Session],
    width: int,
) -> None:
    for name in ("with", "without"):
        make_link(alice, name, location_url=f"https://{name}.example/")
    session.add(
        Favicon(**access_of(alice).row_columns, site="https://with.example", content=ICON, digest="abcd")
    )
    session.commit()
    desk.set_viewport_size({"width": width, "height": HEIGHTS[width]})
    desk.reload()
    icon = desk.locator("img.site")
    expect(icon).to_have_count(1)
    expect(desk.get_by_role("listitem").filter(has=icon)).to_contain_text("/with")
    # icons load late on purpose, and decode while the test goes on
    wait_until(desk, lambda: icon.evaluate("image => image.complete && image.naturalWidth") == 48)
    assert icon.evaluate("image => [image.offsetWidth, image.offsetHeight]") == [20, 20]
    assert sideways(desk) == []
