"""Pictures of the statistics pages: each shows exact numbers.

What is shown is compared with a plain count over the visits themselves, and with nothing that the
application computes.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, Page, expect

from app.core import clock
from app.core.config import Settings
from tests.analytics.load import Plain, load, value
from tests.browser.conftest import wait_until
from tests.browser.shown import Shown
from tests.past import Past, take_in

pytestmark = [pytest.mark.browser, pytest.mark.full]
ZONE = ZoneInfo("Asia/Kolkata")
LONG_AGO = 20  # number of days with visits, a year before the others
Span = tuple[dt.date, dt.date]


@pytest.fixture
def years(past: Past, settings: Settings) -> Past:
    """The recent visits of `past`, and some of a year ago."""
    begin = clock.now().replace(hour=0, minute=0, second=0) - dt.timedelta(days=365 + LONG_AGO)
    links = {past.owner.id: [past.first.id, past.second.id]}
    older = load(80, begin, LONG_AGO, links, Random(8))
    take_in(settings, older)
    return past._replace(visits=past.visits + older)


@pytest.fixture
def shown(desk: Page, years: Past, site: str) -> Shown:
    desk.goto(f"{site}/dashboard/links/{years.first.id}/statistics/")
    return Shown(desk)


class Known:
    """The visits to the first link, counted without the application."""

    def __init__(self, past: Past, zone: ZoneInfo = ZONE) -> None:
        self.visits = [visit for visit in past.visits if visit.link_id == past.first.id]
        self.zone = zone

    def rows(self, name: str, span: Span, *, bots: bool = False, **only: str | None) -> list[dict[str, Any]]:
        some = [visit for visit in self.visits if bool(visit.is_bot) is bots]
        for each, wanted in only.items():
            some = [visit for visit in some if value(each, visit) == wanted]
        return Plain(some, self.zone, *span).rows(name)

    def total(self, span: Span, **only: Any) -> tuple[int, int]:
        rows = self.rows("overview", span, **only)
        return sum(row["pageviews"] for row in rows), sum(row["visitors"] for row in rows)


def today(zone: ZoneInfo = ZONE) -> dt.date:
    return clock.now().astimezone(zone).date()


def ago(days: int) -> dt.date:
    return today() - dt.timedelta(days)


def totals(shown: Shown, counts: Sequence[int]) -> None:
    for title, count in zip(("Clicks", "Visitors"), counts, strict=True):
        expect(shown.total(title)).to_have_text(f"{count:,}")


def test_pictures_and_their_numbers(shown: Shown, years: Past) -> None:
    page, known, span = shown.page, Known(years), (ago(29), today())
    overview = shown.part("overview")
    canvas = overview.locator(".u-over")
    box = canvas.bounding_box()
    assert box
    for day in (29, 8, 3):
        page.mouse.move(box["x"] + box["width"] * (29 - day) / 29, box["y"] + box["height"] / 2)
        count = known.total((ago(day), ago(day)))[0]
        expect(overview.locator(".chart-tip span").first).to_contain_text(f"{ago(day):%a} {ago(day).day} ")
        expect(overview.locator(".chart-tip b").first).to_have_text(f"{count}")
    page.mouse.move(0, 0)
    expect(overview.locator(".chart-tip")).to_be_hidden()
    table = overview.get_by_role("region", name="Clicks and visitors over time")
    expect(table).to_be_hidden()
    overview.get_by_text("Show as a table").click()
    expect(table).to_be_visible()

    world = shown.part("map")
    germany = world.locator("path[data-code=DE]")
    count = {row["country_code"]: row["pageviews"] for row in known.rows("country_code", span)}["DE"]
    germany.hover()
    expect(page.locator(".jvm-tooltip")).to_have_text(f"Germany: {count} clicks")
    width = wide(germany)
    world.locator(".jvm-zoomin").click()
    wait_until(page, lambda: wide(germany) > width * 1.2)
    world.locator(".jvm-zoomout").click()
    wait_until(page, lambda: abs(wide(germany) - width) < width * 0.05)
    for is_hidden in (True, False):  # as when it is swapped into a part that has no layout yet
        world.locator("[data-world]").evaluate("(box, is) => { box.hidden = is; }", is_hidden)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    wait_until(page, lambda: abs(wide(germany) - width) < width * 0.05)
    world.get_by_text("Show as a table").click()
    expect(world.get_by_role("row", name=re.compile(f"^Germany {count} "))).to_be_visible()

    week = shown.part("week")
    cells = [int(text) for text in week.locator("table.heat tbody td").all_text_contents()]
    plain = Plain([visit for visit in known.visits if not visit.is_bot], ZONE, *span)
    hours = plain.count(lambda visit: plain.local(visit).weekday() * 24 + plain.local(visit).hour)
    assert cells == [hours.get(hour, (0, 0))[0] for hour in range(7 * 24)]
    some = week.locator("table.heat tbody td").nth(cells.index(max(cells)))
    transparent = some.evaluate("cell => getComputedStyle(cell).color")
    week.get_by_label("Show numbers").check()
    assert some.evaluate("cell => getComputedStyle(cell).color") != transparent
    expect(some).to_have_attribute("title", re.compile(rf": {max(cells)}$"))


def wide(one: Locator) -> float:
    box = one.bounding_box()
    return box["width"] if box else 0.0
