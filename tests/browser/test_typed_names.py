"""Targeting in a browser by names and bare hosts, and errors that belong to their fields."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.links.models import Link

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.fixture(params=[1280, 390], ids=["desktop", "phone"])
def wide(desk: Page, request: pytest.FixtureRequest) -> Page:
    """The list of links on a wide screen and on a phone's."""
    desk.set_viewport_size({"width": request.param, "height": 800})
    return desk


def expect_error(control: Locator, text: str) -> None:
    """The control is marked, and what describes it says why."""
    expect(control).to_have_attribute("aria-invalid", "true")
    expect(control).to_have_accessible_description(text)


def test_countries_by_usual_names_and_destinations_without_scheme(
    wide: Page, session: scoped_session[Session]
) -> None:
    wide.get_by_role("link", name="Create link").first.click()
    dialog = wide.get_by_role("dialog")
    dialog.get_by_label("Destination", exact=True).fill("example.com")
    dialog.locator("summary", has_text="Schedule & limits").click()
    dialog.locator("[name=expiration_url]").fill("example.com/over")
    dialog.locator("summary", has_text="Targeting").click()
    dialog.get_by_label("Target visitors by").select_option("Country")
    group = dialog.get_by_role("group", name="Country")
    rows = (("UK", "gb.example"), ("ivory coast", "ci.example/a"), ("Atlantis", "no.example"))
    for number, (country, to) in enumerate(rows, 1):
        if number > 1:
            group.get_by_role("button", name="Add a line").press("Enter")
        expect(group.get_by_label(f"Country {number}")).to_be_focused() if number > 1 else None
        group.get_by_label(f"Country {number}").fill(country)
        group.get_by_label(f"Destination {number}").fill(to)
    dialog.get_by_role("button", name="Create link").click()
    expect_error(
        group.get_by_label("Country 3"), "There is no such country. Its code has two letters, like DE."
    )
    expect(group.get_by_label("Country 3")).to_be_focused()
    group.get_by_label("Country 3").fill("Holland")
    expect(dialog.get_by_role("complementary", name="Preview")).to_contain_text("https://gb.example")
    dialog.get_by_role("button", name="Create link").click()
    expect(wide.get_by_role("status").filter(has_text="is created.")).to_be_visible()
    session.rollback()
    link = session.scalars(select(Link)).one()
    assert (link.location_url, link.expiration_url) == ("https://example.com", "https://example.com/over")
    assert link.targeting == [
        ["GB", "https://gb.example"],
        ["CI", "https://ci.example/a"],
        ["NL", "https://no.example"],
    ]
