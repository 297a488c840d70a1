"""Statistics of a project and of all links: the same controls, and the numbers of a plain count.

Those of one link are tested in `test_statistics_controls`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy.orm import Session, scoped_session

from app.core import clock
from app.core.config import Settings
from app.dashboard.statistics.state import CARDS
from app.dashboard.statistics.views import OF_MANY
from app.dashboard.statistics.words import WORDS, word
from app.links.models import Link
from tests.analytics.load import Plain, value
from tests.browser.conftest import wait_until
from tests.browser.shown import Shown
from tests.browser.test_statistics_controls import (
    ZONE,
    Known,
    Span,
    ago,
    choose,
    replace_visit,
    saved,
    shown_counts,
    spans,
    today,
    totals,
)
from tests.past import Past, take_in

pytestmark = [pytest.mark.browser, pytest.mark.full]


def month() -> Span:
    return ago(29), today()


class KnownOfMany(Known):
    """The visits to both links, counted without the application. A project counts visitors for each link."""

    def __init__(self, past: Past, *, over_links: bool) -> None:
        super().__init__(past)
        self.visits, self.over_links = past.visits, over_links

    def some(self, *, bots: bool = False, **only: str | None) -> list[Any]:
        found = [visit for visit in self.visits if bool(visit.is_bot) is bots]
        return [visit for visit in found if all(value(name, visit) == text for name, text in only.items())]

    def rows(self, name: str, span: Span, *, bots: bool = False, **only: str | None) -> list[dict[str, Any]]:
        return Plain(self.some(bots=bots, **only), self.zone, *span).rows(name, over_links=self.over_links)

    def of_links(self, span: Span, **only: str | None) -> Counter[int]:
        plain = Plain(self.some(**only), self.zone, *span)
        return Counter(visit.link_id for visit in plain.visits if plain.is_inside(visit))


@pytest.fixture(params=["a project", "everything"])
def known(request: pytest.FixtureRequest, past: Past, session: scoped_session[Session]) -> KnownOfMany:
    session.get_one(Link, past.second.id).project_id = past.project.id
    session.commit()
    return KnownOfMany(past, over_links=request.param == "a project")


@pytest.fixture
def shown(desk: Page, known: KnownOfMany, past: Past, site: str) -> Shown:
    where = f"projects/{past.project.id}/statistics/" if known.over_links else "statistics/"
    desk.goto(f"{site}/dashboard/{where}")
    return Shown(desk)


def test_every_control(
    shown: Shown, known: KnownOfMany, past: Past, settings: Settings, tmp_path: Path
) -> None:
    page, where = shown.page, shown.page.url
    for title, span in spans(past.first).items():
        choose(page, "Period", title)
        totals(shown, known.total(span))
    choose(page, "Period", "Last 30 days")
    assert shown.days() == [tuple(row.values())[1:] for row in known.rows("overview", month())]
    for title in ("Previous year", "No comparison", "Previous period"):
        choose(page, "Compared with", title)
        expect(shown.part("overview").locator(".was")).to_have_count(0 if title == "No comparison" else 2)
    page.goto(where)
    lists(shown, known, tmp_path)
    links(shown, known, past)
    pictures(shown, known)
    page.get_by_role("link", name="Bots").click()
    totals(shown, known.total(month(), bots=True))
    page.get_by_role("link", name="People").click()
    totals(shown, known.total(month()))
    shown.part("latest")
    single = saved(page, page.get_by_role("link", name="All of these clicks as CSV"), tmp_path)
    assert len(single) == 1 + known.total(month())[0]
    live(shown, known, past, settings)


def lists(shown: Shown, known: KnownOfMany, directory: Path) -> None:
    page = shown.page
    for card in (each for each in CARDS if each in OF_MANY):
        for dimension in CARDS[card]:
            name = WORDS[dimension].many.removeprefix("UTM ").capitalize()
            part = shown.part(card)
            if len(CARDS[card]) > 1:
                part.get_by_role("link", name=name, exact=True).click()
            expect(part.locator("thead th").first).to_have_text(str(WORDS[dimension].one))
            plain = known.rows(dimension, month())
            expect(part.locator("tbody tr")).to_have_count(len(plain))
            assert shown_counts(part) == {word(dimension, row[dimension]): row["pageviews"] for row in plain}
            rows = saved(page, part.get_by_role("link", name=re.compile("as CSV$")), directory)
            assert rows[1:] == [[str("" if cell is None else cell) for cell in row.values()] for row in plain]
        first = plain[0][dimension]
        part.locator("tbody a").first.click()
        page.wait_for_url(re.compile(rf"[?&]{dimension}="))
        totals(shown, known.total(month(), **{dimension: first}))
        counts = known.of_links(month(), **{dimension: first})
        assert sorted(shown_counts(shown.part("links")).values()) == sorted(counts.values())
        page.get_by_role("link", name="Clear all").click()
        totals(shown, known.total(month()))


def links(shown: Shown, known: KnownOfMany, past: Past) -> None:
    told = {name.rpartition("/")[2]: count for name, count in shown_counts(shown.part("links")).items()}
    counts = known.of_links(month())
    assert told == {"first": counts[past.first.id], "second": counts[past.second.id]}


def pictures(shown: Shown, known: KnownOfMany) -> None:
    page, world = shown.page, shown.part("map")
    germany = {row["country_code"]: row["pageviews"] for row in known.rows("country_code", month())}["DE"]
    world.locator("path[data-code=DE]").hover()
    expect(page.locator(".jvm-tooltip")).to_have_text(f"Germany: {germany} clicks")
    cells = [int(text) for text in shown.part("week").locator("table.heat tbody td").all_text_contents()]
    plain = Plain(known.some(), ZONE, *month())
    hours = plain.count(lambda visit: plain.local(visit).weekday() * 24 + plain.local(visit).hour)
    assert cells == [hours.get(hour, (0, 0))[0] for hour in range(7 * 24)]
    shown.part("overview").get_by_text("Show as a table").click()
    expect(shown.part("overview").get_by_role("region")).to_be_visible()


def live(shown: Shown, known: KnownOfMany, past: Past, settings: Settings) -> None:
    page = shown.page
    page.clock.install()
    page.reload()
    shown.part("latest")
    new = replace_visit(past, int(clock.now().timestamp() * 1000))
    take_in(settings, [new])
    page.clock.run_for(10_500)
    expect(shown.part("latest").locator("li").first).to_contain_text("Tokyo, Japan")
    shown.part("latest").get_by_role("button", name="Live").click()
    expect(shown.part("latest").get_by_role("button", name="Paused")).to_be_visible()
    wait_until(page, lambda: shown.total().inner_text() != "")
    known.visits.append(new)
    choose(page, "Period", "Realtime")
    totals(shown, (1, 1))
