"""Targeting in a browser by names and bare hosts, and errors that belong to their fields."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
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


def test_errors_that_come_beside_a_form_belong_to_its_fields(
    wide: Page, site: str, alice: User, make_link: Callable[..., Link]
) -> None:
    link = make_link(alice, "old")
    wide.goto(f"{site}/dashboard/links/{link.id}/try")
    wide.locator("summary", has_text="is in").click()
    field = wide.locator("#try-ip")
    field.fill("x")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_attribute("aria-describedby", "try-ip-problem try-ip-hint")
    expect(wide.locator("#try-ip-problem")).to_contain_text("This must be an IP address")
    field.fill("192.0.2.1")
    expect(field).not_to_have_attribute("aria-invalid", "true")
    wide.goto(f"{site}/dashboard/links/{link.id}/qr")
    logo = wide.locator("#logo")
    logo.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": b"no picture"})
    expect(logo).to_have_attribute("aria-invalid", "true")
    expect(wide.locator("#logo-problem")).to_be_visible()
    logo.set_input_files([])
    expect(logo).not_to_have_attribute("aria-invalid", "true")
    expect(wide.locator("#logo-problem")).to_have_count(0)
