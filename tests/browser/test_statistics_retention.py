"""Filters of statistics beyond the days whose single clicks are kept: pages say so before they are chosen."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.core.config import Settings
from app.dashboard.statistics import figures
from tests.browser.shown import Shown
from tests.browser.test_accessibility import sideways, violations
from tests.browser.test_statistics_controls import Known, choose, today, totals
from tests.dashboard.statistics.test_pages import prune
from tests.past import Past

pytestmark = [pytest.mark.browser, pytest.mark.full]
UTC = ZoneInfo("UTC")  # elsewhere pruned days are divided otherwise than the plain count divides them


@pytest.fixture
def since(past: Past, settings: Settings, session: scoped_session[Session], monkeypatch: Any) -> dt.date:
    """The first day whose single clicks all exist: those from before are deleted."""
    prune(settings, session, monkeypatch)
    session.get_one(User, past.owner.id).timezone = UTC.key
    session.commit()
    return today(UTC) - dt.timedelta(5)


@pytest.fixture(params=[1280, 390])
def shown(desk: Page, past: Past, site: str, since: dt.date, request: pytest.FixtureRequest) -> Shown:
    """The statistics of the first link, over the last 30 days."""
    desk.set_viewport_size({"width": request.param, "height": 800})
    desk.goto(f"{site}/dashboard/links/{past.first.id}/statistics/")
    return Shown(desk)


def notes(page: Page) -> dict[str, str]:
    """What the open menu of periods says of each, by its name."""
    items = page.locator("#period li a")
    return {
        item.locator(".text").evaluate("text => text.firstChild.textContent"): "".join(
            item.locator(".since").all_inner_texts()
        )
        for item in items.all()
    }


def test_said_before_a_filter_is_chosen_and_one_is_answered_for_all_days(
    shown: Shown, past: Past, since: dt.date
) -> None:
    page, known, day = shown.page, Known(past, UTC), figures.day_words(since)
    month = today(UTC) - dt.timedelta(29), today(UTC)
    notice = page.locator("#filters-since")
    expect(notice).to_contain_text(f"Filters reach back to {day}")
    chrome = shown.row("devices", "Chrome")
    expect(chrome).to_have_accessible_description(re.compile(f"Filters reach back to {day}"))
    assert [*violations(page), *sideways(page)] == []

    shown.row("places", "Germany").click()
    page.wait_for_url("**/?country_code=DE")
    totals(shown, known.total(month, country_code="DE"))
    expect(notice).to_contain_text(f"everything with a second one, begin on {day}")
    expect(shown.part("devices").locator(".since")).to_have_text(f"From {day}")
    expect(shown.part("places").locator(".since")).to_have_count(0)

    shown.row("devices", "Chrome").click()
    page.wait_for_url(re.compile("browser_name=Chrome"))
    totals(shown, known.total((since, today(UTC)), country_code="DE", browser_name="Chrome"))
    expect(shown.part("overview").locator(".notice")).to_contain_text("stored for a limited time")
    assert [*violations(page), *sideways(page)] == []

    page.locator("#period summary").click()
    expect(page.locator("#period .hint")).to_contain_text(f"With filters: from {day}")
    assert notes(page)["Last 12 months"] == f"from {day}"
    assert notes(page)["Today"] == ""
    page.keyboard.press("Escape")
    choose(page, "Period", "Yesterday")
    expect(notice).to_have_count(0)
