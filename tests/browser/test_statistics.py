"""Statistics pages in the browser: they follow every control, and show the API's numbers."""

from __future__ import annotations

import csv
import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.core import clock
from app.core.config import Settings
from app.journal.codec import Visit
from tests.browser.shown import Shown
from tests.browser.test_accessibility import sideways, violations
from tests.clients import Api
from tests.past import Past, take_in

pytestmark = [pytest.mark.browser, pytest.mark.full]
ZONE = "Asia/Kolkata"
PHONE = {"width": 390, "height": 800}


@pytest.fixture
def report(api: Api, past: Past) -> Callable[..., Any]:
    """The API's report on the first link: (clicks, visitors) of each row."""

    def ask(**asked: Any) -> list[dict[str, Any]]:
        asked = {"timezone": ZONE, **asked}
        found: list[dict[str, Any]] = api.get(f"/statistics/{past.first.id}", query_string=asked).json["data"]
        return found

    return ask


def counts(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row["pageviews"], row["visitors"]) for row in rows]


def clicks(rows: list[dict[str, Any]]) -> str:
    return f"{sum(row['pageviews'] for row in rows):,}"


@pytest.fixture
def shown(desk: Page, past: Past, site: str) -> Shown:
    """The statistics of the first link, reached from the list."""
    desk.reload()
    desk.get_by_role("link", name=f"Statistics for 127.0.0.1:{site.rpartition(':')[2]}/first").click()
    desk.wait_for_url(f"**/links/{past.first.id}/statistics/")
    return Shown(desk)


def test_periods_by_menu_and_keys(shown: Shown, report: Callable[..., Any], past: Past) -> None:
    page = shown.page
    expect(shown.total()).to_have_text(clicks(report()))
    expect(shown.total("Visitors")).to_have_text(f"{sum(row['visitors'] for row in report()):,}")
    assert shown.days() == counts(report())
    expect(shown.part("overview").locator("canvas")).to_be_visible()

    today = dt.date.fromisoformat(report()[-1]["formatted_date"])
    page.keyboard.press("w")
    page.wait_for_url("**/statistics/?period=7d")
    week = report(start_date=today - dt.timedelta(6), end_date=today)
    expect(shown.total()).to_have_text(clicks(week))
    assert shown.days() == counts(week)
    page.keyboard.press("x")
    page.wait_for_url("**/?period=7d&compare=off")
    expect(shown.part("overview")).not_to_contain_text("was")
    page.go_back()
    expect(shown.part("overview")).to_contain_text("was")
    page.reload()
    expect(shown.total()).to_have_text(clicks(week))

    page.keyboard.press("m")
    page.wait_for_url("**/?period=month")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/?period=month&date=*")
    last_month = today.replace(day=1) - dt.timedelta(1)
    expect(page.locator("#period summary")).to_contain_text("Last month")
    expect(shown.total()).to_have_text(
        clicks(report(start_date=last_month.replace(day=1), end_date=last_month))
    )
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/?period=month")

    for key, period in {
        "d": "day",
        "r": "realtime",
        "f": "28d",
        "n": "91d",
        "y": "year",
        "s": "6mo",
        "l": "12mo",
        "a": "all",
    }.items():
        page.keyboard.press(key)
        page.wait_for_url(f"**/?period={period}")
        expect(shown.total()).to_be_visible()
    page.keyboard.press("t")
    page.wait_for_url("**/statistics/")
    page.keyboard.press("e")
    page.wait_for_url("**/?period=day&date=*")
    yesterday = today - dt.timedelta(1)
    hours = report(type="hour", start_date=yesterday, end_date=yesterday)
    expect(shown.total()).to_have_text(clicks(hours))
    assert shown.days() == counts(hours)

    page.keyboard.press("c")
    expect(page.get_by_label("From", exact=False)).to_be_focused()
    start, end = today - dt.timedelta(9), today - dt.timedelta(3)
    page.locator("#own-start").fill(str(start))
    page.locator("#own-end").fill(str(end))
    page.get_by_role("button", name="Show these days").click()
    page.wait_for_url(f"**/?period=custom&start_date={start}&end_date={end}")
    expect(shown.total()).to_have_text(clicks(report(start_date=start, end_date=end)))

    page.locator("#period summary").click()
    page.get_by_role("switch", name="Letters as shortcuts").click()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("w")
    page.reload()
    page.keyboard.press("w")
    expect(shown.total()).to_have_text(clicks(report(start_date=start, end_date=end)))
    page.locator("#period summary").click()
    expect(page.get_by_role("switch", name="Letters as shortcuts")).not_to_be_checked()
    page.get_by_role("link", name="Last 7 days").click()
    page.wait_for_url("**/?period=7d")


def test_rows_filter_and_combine(shown: Shown, report: Callable[..., Any], tmp_path: Path) -> None:
    page = shown.page
    assert shown.list("places") == {
        {"DE": "Germany", "US": "United States", None: "Unknown"}[row["country_code"]]: row["pageviews"]
        for row in report(type="country_code")
    }
    shown.row("places", "Germany").click()
    page.wait_for_url("**/?country_code=DE")
    expect(shown.total()).to_have_text(clicks(report(country_code="DE")))
    shown.row("devices", "Safari").click()
    page.wait_for_url("**/?country_code=DE&browser_name=Safari")
    both = report(country_code="DE", browser_name="Safari")
    expect(shown.total()).to_have_text(clicks(both))
    assert shown.chips() == ["Country: Germany", "Browser: Safari"]
    assert shown.days() == counts(both)

    shown.part("places").get_by_role("link", name="Cities", exact=True).click()
    page.wait_for_url(re.compile("places=city_name"))
    expect(shown.row("places", "Köln")).to_be_visible()
    shown.part("devices").get_by_role("link", name="Languages", exact=True).click()
    page.wait_for_url(re.compile("places=city_name&devices=browser_language"))
    shown.total("Visitors").click()
    page.wait_for_url(re.compile("metric=visitors"))
    shown.part("overview").get_by_role("link", name="Week").click()
    page.wait_for_url(re.compile("metric=visitors&interval=week&places=city_name&devices=browser_language"))
    page.reload()
    # thirty days touch five weeks or six
    expect(shown.part("overview").locator("tbody tr").nth(6)).to_have_count(0)
    expect(shown.total("Visitors")).to_have_text(f"{sum(row['visitors'] for row in both):,}")
    expect(shown.row("places", "Köln")).to_be_visible()
    expect(shown.row("devices", "German")).to_be_visible()

    with page.expect_download() as download:
        shown.part("devices").get_by_role("link", name="Languages as CSV").click()
    download.value.save_as(tmp_path / "file.csv")
    with (tmp_path / "file.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    languages = report(type="browser_language", country_code="DE", browser_name="Safari")
    assert [line[1:] for line in lines[1:]] == [[str(n) for n in pair] for pair in counts(languages)]

    page.get_by_role("link", name="Country: Germany").click()
    page.wait_for_url(re.compile(r"/\?(?!.*country_code)"))
    expect(shown.total()).to_have_text(clicks(report(browser_name="Safari")))
    shown.row("sources", "Direct or unknown").click()
    expect(shown.total()).to_have_text(clicks(report(browser_name="Safari", referrer_host="")))
    page.keyboard.press("Escape")
    expect(page.locator(".applied")).to_have_count(0)
    expect(shown.total()).to_have_text(clicks(report()))

    page.get_by_role("link", name="Bots").click()
    page.wait_for_url(re.compile("bots=1"))
    expect(shown.total()).to_have_text(clicks(report(bots=1)))
    page.get_by_role("link", name="People").click()
    expect(shown.total()).to_have_text(clicks(report()))

    shown.part("map").locator("path[data-code=DE]").click()
    page.wait_for_url(re.compile("country_code=DE"))
    expect(shown.total()).to_have_text(clicks(report(country_code="DE")))
    shown.part("map").get_by_text("Show as a table").click()
    expect(shown.part("map").get_by_role("row").nth(1)).to_contain_text("Germany")


def test_live_themes_and_failures(
    shown: Shown,
    past: Past,
    settings: Settings,
    watch: Any,
) -> None:
    page = shown.page
    light = shown.picture()
    assert light.startswith("data:image/png")
    page.get_by_role("button", name="Dark").click()
    assert shown.picture() != light

    now = int(clock.now().timestamp() * 1000)
    new = Visit(
        now, past.first.id, past.owner.id, is_bot=0, visitor="new", country_code="JP", city_name="Tokyo"
    )
    expect(shown.part("latest").locator("li")).to_have_count(8)
    page.evaluate("document.querySelectorAll('[data-poll]').forEach(one => htmx.trigger(one, 'poll'))")
    take_in(settings, [new])
    page.evaluate("document.querySelectorAll('[data-poll]').forEach(one => htmx.trigger(one, 'poll'))")
    expect(shown.part("latest").locator("li").first).to_contain_text("Tokyo, Japan")
    pause = shown.part("latest").get_by_role("button", name="Live")
    pause.click()
    expect(shown.part("latest").get_by_role("button", name="Paused")).to_have_attribute(
        "aria-pressed", "true"
    )

    page.route(
        "**/statistics/sources*", lambda route: route.fulfill(status=500, body="<p data-message>No luck.</p>")
    )
    page.reload()
    expect(shown.part("sources").get_by_role("alert")).to_contain_text("No luck.")
    expect(shown.total()).to_be_visible()
    page.unroute("**/statistics/sources*")
    shown.part("sources").get_by_role("button", name="Try again").click()
    expect(shown.row("sources", "news.example")).to_be_visible()
    assert [text for text in watch.complaints if "500" not in text] == []
    watch.complaints.clear()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everybody_can_use_them(shown: Shown, past: Past, site: str, theme: str) -> None:
    page = shown.page
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    found = {}
    for path in ("statistics/", f"links/{past.first.id}/statistics/?country_code=DE", "statistics/?period=realtime", "statistics/?period=x", "statistics/list/city_name"):  # fmt: skip
        page.goto(f"{site}/dashboard/{path}")
        for width in (1280, 320):
            page.set_viewport_size({"width": width, "height": 800})
            for part in page.locator("[data-part]").all():
                part.scroll_into_view_if_needed()
                expect(part.locator(".skeleton")).to_have_count(0)
            page.evaluate("document.querySelectorAll('.as-table').forEach(one => (one.open = true))")
            found[f"{path} at {width}"] = [*violations(page), *sideways(page)]
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto(f"{site}/dashboard/statistics/")
    page.locator("#period summary").click()
    found["menu"] = [*violations(page, "#period"), *sideways(page)]
    menu = page.locator("#period .panel").bounding_box()
    assert menu
    assert menu["x"] >= 0
    assert {where: what for where, what in found.items() if what} == {}
