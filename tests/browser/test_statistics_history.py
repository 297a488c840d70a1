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


def test_typed_days_ask_for_nothing_until_they_are_sent_and_back_is_one_step(
    shown: Shown, past: Past
) -> None:
    page, known = shown.page, Known(past)
    first, start, end = page.url, page.locator("#own-start"), page.locator("#own-end")
    page.keyboard.press("c")
    expect(start).to_be_focused()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "latest" not in request.url else None)
    start.fill(str(ago(9)))
    end.fill(str(ago(4)))
    page.get_by_role("button", name="Show these days").focus()  # the fields' `change`
    page.locator("#period summary").click()  # closed, and opened again
    page.locator("#period summary").click()
    expect(start).to_have_value(str(ago(9)))
    assert asked == []
    assert page.url == first
    start.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/?period=custom&start_date={ago(9)}&end_date={ago(4)}")
    totals(shown, known.total((ago(9), ago(4))))
    page.evaluate("setTimeout(() => history.back())")
    expect(page).to_have_url(first)
    totals(shown, known.total((ago(29), today())))
    expect(start).to_have_value(str(ago(29)))
    expect(end).to_have_value(str(today()))
    page.evaluate("setTimeout(() => history.forward())")
    expect(page).to_have_url(re.compile("period=custom"))
    totals(shown, known.total((ago(9), ago(4))))
    expect(start).to_have_value(str(ago(9)))


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
