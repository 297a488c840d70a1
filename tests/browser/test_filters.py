"""Filters of the list of links: several values, "is not", chips, and what follows them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

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


def test_filters_are_accessible(desk: Page, links: None, site: str) -> None:
    desk.goto(f"{site}/dashboard/links/?tag=winter&tag=summer&not=tag")
    open_filter(desk, "Tag")
    assert seen(desk) == {}
