"""Filters of the list of links: several values, "is not", chips, and what follows them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.links.models import Link
from tests.browser.test_accessibility import seen

pytestmark = [pytest.mark.browser, pytest.mark.full]
TAGS = {"beach": ("summer",), "snow": ("winter",), "rain": ("autumn", "winter"), "none": ()}


@pytest.fixture
def links(alice: User, make_link: Callable[..., Link]) -> None:
    for name, tags in TAGS.items():
        make_link(alice, name, tags=tags)


def shows(page: Page, *names: str) -> None:
    rows = page.get_by_role("list", name="Links").get_by_role("listitem")
    expect(rows).to_have_count(len(names))
    for name in names:
        expect(rows.filter(has_text=f"/{name}")).to_have_count(1)


def chips(page: Page) -> Locator:
    return page.locator(".applied .chip > span:first-child")


def open_filter(page: Page, name: str) -> Locator:
    panel = page.locator(".panel.filters")
    if not panel.is_visible():
        page.locator("summary.button", has_text="Filter").click()
    summary = panel.locator("summary", has_text=re.compile(f"^{name}$"))
    if summary.locator("..").get_attribute("open") is None:
        summary.click()
    return panel.get_by_role("group", name=name)


@pytest.mark.parametrize("width", [1280, 390])
def test_any_of_several_values_or_none_of_them(desk: Page, links: None, site: str, width: int) -> None:
    desk.set_viewport_size({"width": width, "height": 800})
    desk.reload()
    tags = open_filter(desk, "Tag")
    tags.get_by_label("summer").check()
    shows(desk, "beach")
    tags.get_by_label("winter").check()
    shows(desk, "beach", "snow", "rain")
    expect(chips(desk)).to_have_text(["Tag: summer, winter"])
    tags.get_by_label("Tag: is or is not").select_option("is not")
    shows(desk, "none")
    expect(chips(desk)).to_have_text(["Tag is not: summer, winter"])
    expect(desk).to_have_url(f"{site}/dashboard/links/?tag=summer&tag=winter&not=tag")
    panel = desk.locator(".panel.filters").bounding_box()
    assert panel and panel["x"] >= 0
    assert panel["x"] + panel["width"] <= width
    desk.keyboard.press("Escape")
    expect(desk.locator(".panel.filters")).to_be_hidden()
    desk.reload()
    shows(desk, "none")
    tags = open_filter(desk, "Tag")
    expect(tags.get_by_label("summer")).to_be_checked()
    expect(tags.get_by_label("Tag: is or is not")).to_have_value("tag")
    desk.go_back()
    desk.go_back()
    expect(desk).to_have_url(f"{site}/dashboard/links/?tag=summer")
    shows(desk, "beach")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_chip_is_removed_by_keys(desk: Page, links: None, site: str, width: int) -> None:
    desk.set_viewport_size({"width": width, "height": 800})
    desk.goto(f"{site}/dashboard/links/?tag=winter&tag=autumn&not=tag&state=active&state=off&page=1")
    expect(chips(desk)).to_have_text(["State: Active, Off", "Tag is not: winter, autumn"])
    shows(desk, "beach", "none")
    desk.get_by_role("link", name="Tag is not: winter, autumn Remove this filter").focus()
    desk.keyboard.press("Enter")
    expect(desk).to_have_url(re.compile(r"\?state=active&state=off#rows$"))
    shows(desk, *TAGS)
    expect(desk.get_by_role("list", name="Links")).to_be_focused()
    assert not desk.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_keys_alone_choose_values(desk: Page, links: None) -> None:
    desk.reload()
    desk.locator("summary.button", has_text="Filter").focus()
    desk.keyboard.press("Enter")
    desk.keyboard.press("Tab")
    desk.keyboard.press("Tab")
    desk.keyboard.press("Tab")
    expect(desk.locator(".filters .choice > summary", has_text="Tag")).to_be_focused()
    desk.keyboard.press("Enter")
    desk.keyboard.press("Tab")
    desk.keyboard.press("ArrowDown")
    desk.keyboard.press("Tab")
    expect(desk.get_by_label("autumn")).to_be_focused()
    desk.keyboard.press("Space")
    shows(desk, "beach", "snow", "none")
    expect(desk.get_by_label("autumn")).to_be_focused()
    expect(chips(desk)).to_have_text(["Tag is not: autumn"])
    desk.keyboard.press("Escape")
    expect(desk.locator("summary.button", has_text="Filter")).to_be_focused()


def test_a_long_list_of_values_is_searched_in_its_place(
    desk: Page, alice: User, make_link: Callable[..., Link]
) -> None:
    make_link(alice, "many", tags=tuple(f"tag{number}" for number in range(12)))
    desk.reload()
    requests: list[str] = []
    desk.on("request", lambda request: requests.append(request.url))
    tags = open_filter(desk, "Tag")
    tags.get_by_label("tag11").check()
    expect(chips(desk)).to_have_text(["Tag: tag11"])
    tags.get_by_label("Find in Tag").fill("TAG7")
    expect(tags.locator("label:visible")).to_have_text(["tag11", "tag7"])
    tags.get_by_label("Find in Tag").press("Enter")
    tags.get_by_label("tag7").check()
    expect(chips(desk)).to_have_text(["Tag: tag11, tag7"])
    assert len([url for url in requests if "/links/?" in url]) == 2


def test_all_that_match_and_the_export_follow_the_filters(
    desk: Page, links: None, site: str, session: scoped_session[Session]
) -> None:
    desk.goto(f"{site}/dashboard/links/?tag=winter&tag=summer&not=tag")
    with desk.expect_download() as download:
        desk.get_by_role("link", name="Export as CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert len(lines) == 2
    assert "none" in lines[1]
    desk.goto(f"{site}/dashboard/links/?tag=winter&tag=summer")
    desk.locator("#rows .row .pick").first.click()
    desk.get_by_role("button", name="Select this page").click()
    desk.get_by_role("checkbox", name="All 3 that match").check()
    desk.get_by_role("button", name="Turn off").click()
    expect(desk.get_by_role("status").filter(has_text="3 links are turned off.").first).to_be_visible()
    session.rollback()
    off = session.scalars(select(Link.url).where(~Link.is_enabled).order_by(Link.url)).all()
    assert list(off) == ["beach", "rain", "snow"]


def test_filters_are_accessible(desk: Page, links: None, site: str) -> None:
    desk.goto(f"{site}/dashboard/links/?tag=winter&tag=summer&not=tag")
    open_filter(desk, "Tag")
    assert seen(desk) == {}


def test_without_javascript(
    browser: object, context: BrowserContext, desk: Page, links: None, site: str
) -> None:
    page = context.browser.new_context(
        java_script_enabled=False, storage_state=context.storage_state()
    ).new_page()  # type: ignore[union-attr]
    page.goto(f"{site}/dashboard/links/")
    page.locator("summary.button", has_text="Filter").click()
    page.locator(".filters summary", has_text="Tag").click()
    page.get_by_label("summer").check()
    page.get_by_label("winter").check()
    page.get_by_label("Tag: is or is not").select_option("is not")
    expect(page.get_by_label("Find in Tag")).to_have_count(0)
    page.get_by_role("button", name="Show").click()
    shows(page, "none")
    expect(chips(page)).to_have_text(["Tag is not: summer, winter"])
    page.context.close()
