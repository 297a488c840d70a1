"""Controls of the statistics pages: each shows exact numbers.

What is shown is compared with a plain count over the visits themselves, and with nothing that the
application computes.
"""

from __future__ import annotations

import csv
import datetime as dt
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from flask import Flask
from playwright.sync_api import Locator, Page, expect

from app.core import clock
from app.core.config import Settings
from app.dashboard.statistics.state import CARDS
from app.dashboard.statistics.views import PARTS
from app.dashboard.statistics.words import WORDS, word
from app.links.models import Link
from tests.analytics.load import Plain, load, value
from tests.browser.conftest import Watch, wait_until
from tests.browser.shown import Shown
from tests.factories import Factory
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


def month_of(date: dt.date, back: int = 0) -> dt.date:
    """The first day of the month that is `back` months earlier."""
    months = date.year * 12 + date.month - 1 - back
    return dt.date(months // 12, months % 12 + 1, 1)


def year_before(date: dt.date) -> dt.date:
    is_leap_day = (date.month, date.day) == (2, 29)
    return date.replace(year=date.year - 1, day=28 if is_leap_day else date.day)


def spans(first: Link) -> dict[str, Span]:
    """The days that each line of the menu means."""
    now = today()
    return {
        "Today": (now, now),
        "Yesterday": (ago(1), ago(1)),
        "Last 7 days": (ago(6), now),
        "Last 28 days": (ago(27), now),
        "Last 30 days": (ago(29), now),
        "Last 91 days": (ago(90), now),
        "Month to date": (month_of(now), now),
        "Last month": (month_of(now, 1), month_of(now) - dt.timedelta(1)),
        "Year to date": (now.replace(month=1, day=1), now),
        "Last 6 months": (month_of(now, 5), now),
        "Last 12 months": (month_of(now, 11), now),
        "All time": (first.datetime.astimezone(ZONE).date(), now),
    }


def totals(shown: Shown, counts: Sequence[int]) -> None:
    for title, count in zip(("Clicks", "Visitors"), counts, strict=True):
        expect(shown.total(title)).to_have_text(f"{count:,}")


def choose(page: Page, menu: str, title: str) -> None:
    """Choose a line of one of the two menus."""
    pop = page.locator(".stat-bar details", has=page.locator("summary", has_text=re.compile(rf"{menu}: ")))
    pop.locator("summary").click()
    pop.get_by_role("link", name=title, exact=True).click()
    expect(page.locator(".stat-bar summary", has_text=f"{menu}: {title}")).to_be_visible()


def test_every_period_comparison_and_interval(shown: Shown, years: Past) -> None:
    page, known = shown.page, Known(years)
    for title, span in spans(years.first).items():
        choose(page, "Period", title)
        totals(shown, known.total(span))
        if title not in {"Today", "Yesterday"}:
            for interval in shown.part("overview").locator("nav.segments a").all_inner_texts():
                shown.part("overview").get_by_role("link", name=interval, exact=True).click()
                expect(shown.part("overview").locator("thead th").first).to_have_text(interval)
                pairs = shown.days()
                assert [sum(each) for each in zip(*pairs, strict=True)] == [*known.total(span)]
                if interval == "Month":
                    months = {month_of(span[0] + dt.timedelta(n)) for n in range((span[1] - span[0]).days)}
                    assert len(pairs) == len(months)
    choose(page, "Period", "Last 30 days")
    shown.part("overview").get_by_role("link", name="Day", exact=True).click()
    expect(shown.part("overview").locator("thead th").first).to_have_text("Day")
    shown.total("Visitors").click()
    expect(shown.part("overview").locator("[data-chart]")).to_have_attribute("data-metric", "1")

    was = shown.part("overview").locator(".was")
    month = spans(years.first)["Last 30 days"]
    year_ago = year_before(month[0]), year_before(month[1])
    choose(page, "Compared with", "Previous year")
    page.wait_for_url(re.compile("compare=year"))
    before = known.total(year_ago)
    assert before[0] > 20
    expect(was.first).to_contain_text(f"was {before[0]}")
    expect(was.nth(1)).to_contain_text(f"was {before[1]}")
    compared = shown.part("overview").locator("tbody tr td:nth-child(5)").all_text_contents()
    assert [int(cell) for cell in compared] == [row["pageviews"] for row in known.rows("overview", year_ago)]
    choose(page, "Compared with", "No comparison")
    expect(was).to_have_count(0)
    choose(page, "Compared with", "Previous period")
    expect(was.first).to_contain_text(f"was {known.total((ago(59), ago(30)))[0]}")

    choose(page, "Period", "Yesterday")
    page.get_by_role("link", name="Earlier").click()
    page.wait_for_url(re.compile(f"date={ago(2)}"))
    totals(shown, known.total((ago(2), ago(2))))
    page.get_by_role("link", name="Later").click()
    page.wait_for_url(re.compile(f"date={ago(1)}"))
    totals(shown, known.total((ago(1), ago(1))))
    page.go_back()
    page.wait_for_url(re.compile(f"date={ago(2)}"))
    totals(shown, known.total((ago(2), ago(2))))
    page.reload()
    totals(shown, known.total((ago(2), ago(2))))


def test_every_list_filters_and_is_a_file(shown: Shown, years: Past, tmp_path: Path) -> None:
    page, known, span = shown.page, Known(years), (ago(29), today())
    for card, dimensions in CARDS.items():
        for dimension in dimensions:
            name = WORDS[dimension].many.removeprefix("UTM ").capitalize()
            part = shown.part(card)
            if len(dimensions) > 1:
                part.get_by_role("link", name=name, exact=True).click()
            expect(part.locator("thead th").first).to_have_text(str(WORDS[dimension].one))
            plain = known.rows(dimension, span)
            told = {word(dimension, row[dimension]): row["pageviews"] for row in plain}
            expect(part.locator("tbody tr")).to_have_count(len(told))
            assert shown_counts(part) == told, dimension
            rows = saved(page, part.get_by_role("link", name=re.compile("as CSV$")), tmp_path)
            assert rows[0] == [dimension, "pageviews", "visitors"]
            assert rows[1:] == [[str("" if cell is None else cell) for cell in row.values()] for row in plain]

            first = plain[0][dimension]
            part.locator("tbody a").first.click()
            page.wait_for_url(re.compile(rf"[?&]{dimension}="))
            totals(shown, known.total(span, **{dimension: first}))
            assert shown.chips() == [f"{WORDS[dimension].one}: {word(dimension, first)}"]
            page.locator(".applied .chip").click()
            page.wait_for_url(re.compile(rf"^(?!.*{dimension}=)"))
            totals(shown, known.total(span))
    days = saved(page, page.get_by_role("link", name="Clicks and visitors over time as CSV"), tmp_path)
    assert [tuple(map(int, row[1:])) for row in days[1:]] == shown.days()
    shown.part("latest")
    single = saved(page, page.get_by_role("link", name="All of these clicks as CSV"), tmp_path)
    assert len(single) == 1 + known.total(span)[0]
    page.get_by_role("link", name="Bots").click()
    totals(shown, known.total(span, bots=True))
    page.get_by_role("link", name="People").click()
    totals(shown, known.total(span))


def shown_counts(part: Locator) -> dict[str, int]:
    rows = part.locator("tbody tr").all()
    return {row.locator(".word").inner_text(): int(row.locator("td").nth(1).inner_text()) for row in rows}


def saved(page: Page, link: Locator, directory: Path) -> list[list[str]]:
    """The lines of the file that a link downloads."""
    with page.expect_download() as download:
        link.click()
    download.value.save_as(directory / "file.csv")
    with (directory / "file.csv").open(newline="", encoding="utf-8") as file:
        return [*csv.reader(file)]


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


@contextmanager
def broken(app: Flask, name: str) -> Iterator[None]:
    """Inside the block this part of the page fails in the server, which answers as in production."""

    def fail(*_: Any) -> Any:
        raise RuntimeError("a fault of the test's")

    app.testing = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PARTS, name, PARTS[name]._replace(answer=fail))
        yield
    app.testing = True


def test_loading_failing_and_nothing(
    shown: Shown, years: Past, site: str, app: Flask, watch: Watch, factory: Factory, settings: Settings
) -> None:
    page = shown.page
    with broken(app, "sources"):
        page.route("**/statistics/map*", lambda route: route.abort())
        held: list[Any] = []
        page.route("**/statistics/destinations*", lambda route: held.append(route))
        page.reload()
        for part in ("sources", "map"):
            page.locator(f"#panel-{part}").scroll_into_view_if_needed()
        expect(shown.part("sources").get_by_role("alert")).to_contain_text("Something went wrong")
        expect(shown.part("map").get_by_role("alert")).to_contain_text("This could not be loaded.")
        expect(page.locator("#panel-destinations .skeleton")).to_be_visible()
        expect(page.locator("#panel-destinations")).to_contain_text("Destinations are loading.")
        totals(shown, Known(years).total((ago(29), today())))
        held[0].continue_()
        expect(shown.part("destinations").locator("tbody tr")).to_have_count(2)
    page.unroute_all()
    shown.part("map").get_by_role("button", name="Try again").click()
    expect(shown.part("map").locator("path[data-code=DE]")).to_be_visible()
    expected = re.compile("status of 500|Error Code 500|net::ERR_FAILED|^htmx:")
    assert [text for text in watch.complaints if not expected.search(text)] == []
    watch.complaints.clear()

    unvisited = factory.link(years.owner, "unvisited")
    page.goto(f"{site}/dashboard/links/{unvisited.id}/statistics/")
    expect(page.get_by_role("heading", name="This link has no clicks yet")).to_be_visible()
    page.get_by_role("button", name="Copy short link").click()
    expect(page.get_by_role("status").filter(has_text="Copied.")).to_be_visible()
    page.get_by_role("link", name="Wait for the first click").click()
    expect(shown.part("latest")).to_contain_text("No clicks in this period.")
    take_in(settings, [years.visits[-1]._replace(link_id=unvisited.id)])  # a year ago
    page.goto(f"{site}/dashboard/links/{unvisited.id}/statistics/")
    totals(shown, (0, 0))
    for part in (
        "overview",
        "sources",
        "destinations",
        "map",
        "places",
        "devices",
        "campaigns",
        "week",
        "latest",
    ):
        expect(shown.part(part)).to_contain_text("No clicks in this period.")
    page.goto(f"{site}/dashboard/links/{years.first.id}/statistics/?country_code=FR")
    expect(shown.part("places")).to_contain_text("No clicks match")
    page.get_by_role("link", name="Clear all").click()
    totals(shown, Known(years).total((ago(29), today())))


def test_what_is_live_pauses_and_days_are_the_owners(shown: Shown, years: Past, settings: Settings) -> None:
    page = shown.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/latest?seen=" in request.url else None)
    page.clock.install()
    page.reload()
    shown.part("latest")
    page.clock.run_for(10_500)
    wait_until(page, lambda: len(asked) == 1)
    shown.part("latest").get_by_role("button", name="Live").click()
    page.clock.run_for(30_000)
    page.evaluate("() => fetch('/healthz').then(answer => answer.text())")  # time for a wrong request
    assert len(asked) == 1
    shown.part("latest").get_by_role("button", name="Paused").click()
    now = int(clock.now().timestamp() * 1000)
    new = replace_visit(years, now)
    take_in(settings, [new])
    page.clock.run_for(10_500)
    expect(shown.part("latest").locator("li").first).to_contain_text("Tokyo, Japan")
    years.visits.append(new)
    choose(page, "Period", "Realtime")
    totals(shown, (1, 1))

    page.goto(page.url.split("/dashboard/")[0] + "/dashboard/account/")
    page.get_by_label("Time zone").select_option("America/St_Johns")
    page.get_by_role("button", name="Save profile").click()
    expect(page.get_by_label("Time zone")).to_have_value("America/St_Johns")
    expect(page.locator("#toasts")).to_contain_text("saved")
    page.goto(page.url.split("/dashboard/")[0] + f"/dashboard/links/{years.first.id}/statistics/")
    there = ZoneInfo("America/St_Johns")
    span = (today(there) - dt.timedelta(29), today(there))
    known = Known(years, there)
    totals(shown, known.total(span))
    assert shown.days() == [tuple(row.values())[1:] for row in known.rows("overview", span)]
    expect(page.locator("main")).to_contain_text("Days are in America/St Johns.")


def replace_visit(past: Past, time_ms: int) -> Any:
    return past.visits[0]._replace(
        time_ms=time_ms,
        link_id=past.first.id,
        is_bot=0,
        bot_name="",
        visitor="new",
        country_code="JP",
        city_name="Tokyo",
    )
