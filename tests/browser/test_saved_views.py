"""Saved views of the list of links: saved, shown, changed, renamed and deleted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_filters import TAGS, chips, links, open_filter, shows  # noqa: F401

pytestmark = [pytest.mark.browser, pytest.mark.full]


def tab(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation", name="Saved views").get_by_role("link", name=re.compile(f"^{name}"))


def said(page: Page, text: str) -> None:
    expect(page.get_by_role("status").filter(has_text=text).first).to_be_visible()


def save(page: Page, name: str) -> None:
    page.get_by_role("textbox", name="Name").fill(name)
    page.get_by_role("button", name="Save", exact=True).click()


@pytest.mark.usefixtures("links")
@pytest.mark.parametrize("width", [1280, 390])
def test_a_view_is_saved_changed_and_updated(desk: Page, site: str, width: int) -> None:
    desk.set_viewport_size({"width": width, "height": 800})
    desk.reload()
    expect(desk.locator(".views")).to_have_count(0)
    open_filter(desk, "Tag").get_by_label("winter").check()
    shows(desk, "snow", "rain")
    desk.keyboard.press("Escape")
    desk.get_by_role("link", name="Save view").click()
    save(desk, "")
    expect(desk.get_by_role("dialog")).to_contain_text("This can't be empty.")
    save(desk, "Cold")
    said(desk, "Cold is saved.")
    expect(tab(desk, "Cold")).to_be_focused()
    expect(tab(desk, "Cold")).to_have_attribute("aria-current", "true")
    expect(desk).to_have_url(re.compile(r"tag=winter&view=\d+$"))
    # the next step of the list belongs to the view
    open_filter(desk, "Tag").get_by_label("Tag: is or is not").select_option("is not")
    shows(desk, "beach", "none")
    expect(tab(desk, "Cold")).to_contain_text("changed")
    desk.keyboard.press("Escape")
    tab(desk, "Cold").click()
    shows(desk, "snow", "rain")
    expect(tab(desk, "Cold")).not_to_contain_text("changed")
    desk.get_by_role("searchbox").fill("snow")
    shows(desk, "snow")
    expect(tab(desk, "Cold")).to_contain_text("changed")
    desk.get_by_role("button", name="Update view").click()
    said(desk, "Cold is saved.")
    expect(tab(desk, "Cold")).not_to_contain_text("changed")
    tab(desk, "All links").click()
    shows(desk, *TAGS)
    expect(tab(desk, "All links")).to_have_attribute("aria-current", "true")
    expect(desk.get_by_role("link", name="Save view")).to_have_count(0)
    tab(desk, "Cold").click()
    shows(desk, "snow")
    expect(desk.get_by_role("searchbox")).to_have_value("snow")
    assert not desk.evaluate("document.documentElement.scrollWidth > innerWidth")
