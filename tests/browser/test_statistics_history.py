"""Statistics pages and the browser's history: fields, menus and address agree, and nothing in use is replaced."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from app.dashboard.statistics import lists
from tests.browser.shown import Shown
from tests.browser.test_statistics_controls import Known, ago, today, totals
from tests.past import Past

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.fixture(params=[1280, 390])
def shown(desk: Page, past: Past, site: str, request: pytest.FixtureRequest) -> Shown:
    desk.set_viewport_size({"width": request.param, "height": 800})
    desk.goto(f"{site}/dashboard/links/{past.first.id}/statistics/")
    shown = Shown(desk)
    totals(shown, Known(past).total((ago(29), today())))
    return shown


def test_back_from_a_tab_a_filter_and_a_whole_list(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "ROWS", 1)
    page = shown.page
    first = page.url
    shown.part("devices").get_by_role("link", name="Systems").click()
    expect(page).to_have_url(re.compile(r"\?devices=os_name$"))
    tabbed = page.url
    shown.row("places", "Germany").click()
    expect(page).to_have_url(re.compile("country_code=DE"))
    assert shown.chips() == ["Country: Germany"]
    filtered = page.url
    shown.part("places").get_by_role("link", name="Cities").click()
    expect(page).to_have_url(re.compile("places=city_name"))
    page.wait_for_load_state("networkidle")  # a part that is still to come would take the place of the button
    whole = shown.part("places").get_by_role("link", name=re.compile("^All "))
    whole.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("tbody tr").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(whole).to_be_focused()
    for address, tab, chips in (
        (filtered, "os_name", ["Country: Germany"]),
        (tabbed, "os_name", []),
        (first, "browser_name", []),
    ):
        page.evaluate("setTimeout(() => history.back())")
        expect(page).to_have_url(address)
        title = {"os_name": "System", "browser_name": "Browser"}[tab]
        expect(shown.part("devices").locator("thead th").first).to_have_text(title)
        expect(page.locator(".applied .chip")).to_have_count(len(chips))
