"""Statistics pages: the numbers of the reports for each scope, and the state in the address."""

from __future__ import annotations

import datetime as dt
import html
import re
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import delete, select

from app.accounts.models import User
from app.analytics import upkeep
from app.analytics.statistics import StatisticsQuery
from app.analytics.statistics import query_statistics as answer
from app.analytics.upkeep import Upkeep
from app.core import clock
from app.core.config import Settings
from app.dashboard.statistics import figures
from app.dashboard.statistics.figures import word
from app.dashboard.statistics.periods import Span
from app.dashboard.statistics.state import CARDS
from app.journal.codec import Visit
from app.links.models import Link
from app.trash.models import Trashed
from tests.dashboard.conftest import HTMX, Desk
from tests.factories import Factory
from tests.past import Past, take_in

KOLKATA = ZoneInfo("Asia/Kolkata")
TAGS = re.compile(r"<[^>]*>")


def rows(page: str, table: str = "") -> list[list[str]]:
    """The text of each cell, by row of a table's body."""
    body = page.split(f'<table class="{table}')[1].split("<tbody>")[1].split("</tbody>")[0]
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in body.split("</tr>")]
    return [[" ".join(html.unescape(TAGS.sub(" ", cell)).split()) for cell in row] for row in found if row]


def today() -> dt.date:
    return clock.now().astimezone(KOLKATA).date()


def asked(past: Past, **fields: Any) -> StatisticsQuery:
    """A query for all links and the last 30 days, unless `fields` says otherwise."""
    days = {"start": today() - dt.timedelta(29), "end": today()}
    return StatisticsQuery(**{"workspace_id": past.owner.id, "zone": KOLKATA, **days, **fields})


def scopes(past: Past) -> dict[str, tuple[int, ...] | None]:
    return {
        "/statistics/": None,
        f"/links/{past.second.id}/statistics/": (past.second.id,),
        f"/projects/{past.project.id}/statistics/": (past.first.id,),
    }


def test_an_overview_shows_the_report_and_what_was_before(desk: Desk, past: Past, session: Any) -> None:
    """For all links, for one link, and for a project of two."""
    session.get_one(Link, past.second.id).project_id = past.project.id
    session.commit()
    one, end = dt.timedelta(1), today()
    spans = {
        "period=7d&country_code=DE": (Span(end - 6 * one, end), Span(end - 13 * one, end - 7 * one), {"filters": {"country_code": "DE"}}),
        "period=7d&bots=1": (Span(end - 6 * one, end), Span(end - 13 * one, end - 7 * one), {"bots": True}),
        f"period=day&date={end - 5 * one}": (Span(end - 5 * one, end - 5 * one), Span(end - 6 * one, end - 6 * one), {"type": "hour"}),
    }  # fmt: skip
    both = (past.first.id, past.second.id)
    for path, links in {**scopes(past), f"/projects/{past.project.id}/statistics/": both}.items():
        for query, (now, before, more) in spans.items():
            page = desk.get(f"{path}overview?{query}", headers=HTMX).text
            shown = rows(page, "figures")
            for at, span in ((1, now), (4, before)):
                report = answer(
                    session, asked(past, start=span.start, end=span.end, link_ids=links, **more)
                ).rows
                counts = [[row["pageviews"], row["visitors"]] for row in report]
                assert [[int(cell) for cell in row[at : at + 2]] for row in shown] == counts, (path, query)
            clicks, visitors = map(sum, zip(*counts, strict=True))
            was = [text.replace(",", "") for text in re.findall(r"</span>was ([\d.,]+)", page)]
            assert was == [str(clicks), str(visitors), f"{clicks / visitors:.2f}"], (path, query)


def test_each_list_has_the_rows_of_the_report(desk: Desk, past: Past, session: Any) -> None:
    for card, dimension in ((card, each) for card, names in CARDS.items() for each in names):
        report = answer(session, asked(past, type=dimension, filters={"country_code": "DE"}))
        page = desk.get(f"/statistics/{card}?country_code=DE&{card}={dimension}", headers=HTMX).text
        expected = [
            [word(dimension, row[dimension]), str(row["visitors"]), str(row["pageviews"])]
            for row in report.rows
        ]
        shown = [[row[0].removeprefix("DE "), *row[1:]] for row in rows(page, "top")]
        assert shown == expected[:8], dimension
        assert shown, dimension
        every = rows(desk.get(f"/statistics/list/{dimension}?country_code=DE").text, "top")
        assert [row[1:3] for row in every] == [row[1:] for row in expected], dimension


def test_a_row_filters_by_it(desk: Desk, past: Past, session: Any) -> None:
    page = desk.get("/statistics/places?device_type=mobile&period=28d", headers=HTMX).text
    [germany] = re.findall(r'<a href="([^"]*country_code=DE[^"]*)"', page)
    assert html.unescape(germany) == "/dashboard/statistics/?period=28d&device_type=mobile&country_code=DE"
    there = desk.client.get(html.unescape(germany)).text
    for chip in ("Device: <bdi>Phone</bdi>", "Country: <bdi>Germany</bdi>"):
        assert chip in there
    assert 'href="/dashboard/statistics/?period=28d&amp;country_code=DE"' in there
    unknown = re.findall(r'<a href="([^"]*country_code=)"', page)
    assert len(unknown) == 1
    assert "Country: <bdi>Unknown</bdi>" in desk.client.get(html.unescape(unknown[0])).text


def test_the_map_and_its_table(desk: Desk, past: Past, session: Any) -> None:
    report = answer(session, asked(past, type="country_code"))
    page = desk.get("/statistics/map", headers=HTMX).text
    counts = {row["country_code"]: row["pageviews"] for row in report.rows}
    assert {row[0]: int(row[1]) for row in rows(page, "figures")} == {
        word("country_code", code): count for code, count in counts.items()
    }
    shades = dict(re.findall(r'data-country="([A-Z]+)" data-shade="(\d)"', page))
    assert shades.keys() == counts.keys() - {None}
    assert max(shades.values()) == "6"


def test_the_links_lead_to_their_statistics(desk: Desk, past: Past, session: Any) -> None:
    page = desk.get("/statistics/links?period=28d&browser_name=Chrome", headers=HTMX).text
    assert f'href="/dashboard/links/{past.first.id}/statistics/?period=28d&amp;browser_name=Chrome"' in page
    found = {row[0].removeprefix("e "): int(row[2]) for row in rows(page, "top")}
    for link in (past.first, past.second):
        filters = {"browser_name": "Chrome"}
        one = answer(
            session, asked(past, start=today() - dt.timedelta(27), link_ids=(link.id,), filters=filters)
        )
        assert found[f"localhost/{link.url}"] == one.pageviews


def test_the_latest_and_nothing_where_there_is_no_news(desk: Desk, past: Past) -> None:
    page = desk.get("/statistics/latest", headers=HTMX).text
    newest = max((one for one in past.visits if not one.is_bot), key=lambda one: one.time_ms)
    first = re.search(r'<time [^>]*datetime="([^"]+)"', page)
    assert first
    assert dt.datetime.fromisoformat(first[1]).timestamp() == newest.time_ms // 1000
    seen = re.search(r'hx-get="([^"]*seen=[^"]*)"', page)
    assert seen
    assert desk.client.get(html.unescape(seen[1]), headers=HTMX).status_code == 204
    assert desk.get("/statistics/latest?seen=0", headers=HTMX).status_code == 200


def test_the_state_stays_in_the_address(desk: Desk, past: Past) -> None:
    here = {
        **HTMX,
        "HX-Current-URL": "http://localhost/dashboard/statistics/?period=7d&sources=referrer_path",
    }
    page = desk.get("/statistics/?period=28d&metric=visitors", headers=here)
    assert "<!doctype html>" not in page.text
    assert page.headers["HX-Push-Url"] == "/dashboard/statistics/?period=28d&sources=referrer_path"
    tabs = desk.get("/statistics/places?period=7d", headers=here).text
    assert 'hx-get="/dashboard/statistics/places?turned=1&amp;period=7d&amp;places=city_name"' in tabs
    tab = desk.get("/statistics/places?period=7d&places=city_name&turned=1", headers=here)
    assert tab.headers["HX-Push-Url"] == (
        "/dashboard/statistics/?period=7d&sources=referrer_path&places=city_name"
    )
    back = {**here, "HX-Current-URL": "http://localhost/dashboard/statistics/?places=city_name&period=7d"}
    assert (
        desk.get("/statistics/places?period=7d&turned=1", headers=back)
        .headers["HX-Push-Url"]
        .endswith("?period=7d")
    )
    assert "HX-Push-Url" not in desk.get("/statistics/places?period=7d", headers=here).headers


def test_what_cannot_be_asked_is_said(desk: Desk, past: Past) -> None:
    for path in scopes(past):
        for part in ("", "overview", "list/links"):
            answer = desk.get(f"{path}{part}?period=custom&start_date=2026-02-01&end_date=2026-01-01")
            assert answer.status_code == 422, path + part
            assert "end_date: This must not be before the start." in answer.text
    for path in ("/statistics/nothing", "/statistics/list/nothing", "/statistics/list/overview"):
        assert desk.get(path).status_code == 404


def test_what_visitors_sent_is_shown_escaped(desk: Desk, past: Past, settings: Settings) -> None:
    bad = '"><script>alert(1)</script>'
    visit = Visit(
        int(clock.now().timestamp() * 1000) - 86_400_000, past.first.id, past.owner.id, is_bot=0, visitor="v",
        city_name=bad, referrer_host=bad, referrer_path=f"/{bad}", utm_source=bad, destination=f"https://x/{bad}",
    )  # fmt: skip
    take_in(settings, [visit] * 50)
    page = desk.get(f"/links/{past.first.id}/statistics/?whole=1&places=city_name&utm_source={bad}").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_each_link_of_the_list_has_its_small_line(desk: Desk, past: Past, session: Any) -> None:
    page = desk.get("/links/").text
    for link in (past.first, past.second):
        row = page.split(f'id="row-{link.id}"')[1].split("</li>")[0]
        report = answer(session, asked(past, link_ids=(link.id,)))
        assert f", {report.pageviews:,} in the last 30 days" in " ".join(row.split())
        assert len(re.findall(r"[\d.]+,[\d.]+", row.split('points="')[1].split('"')[0])) == 30
        assert f'href="/dashboard/links/{link.id}/statistics/"' in row


def prune(settings: Settings, session: Any, monkeypatch: Any, days: int = 5) -> dt.date:
    """Delete single clicks that are older. Returns the first day whose clicks all exist."""
    monkeypatch.setattr(upkeep, "REST_SECONDS", 0.0)
    worker = Upkeep(replace(settings, click_retention_days=days))
    while worker.step(clock.now()):
        pass
    worker.close()
    session.rollback()
    two = {"country_code": "DE", "device_type": "mobile"}
    workspace_id = session.scalar(select(Link.workspace_id).limit(1))
    end = today()
    common: dict[str, Any] = {
        "workspace_id": workspace_id,
        "zone": KOLKATA,
        "start": end - dt.timedelta(29),
        "end": end,
    }
    covers = answer(session, StatisticsQuery(**common, filters=two)).covers
    assert covers
    assert covers[0] > end - dt.timedelta(7)
    return covers[0]


def text_of(page: str) -> str:
    return " ".join(html.unescape(TAGS.sub(" ", page)).split())


def test_what_filters_still_cover_is_said(
    desk: Desk, past: Past, settings: Settings, session: Any, monkeypatch: Any
) -> None:
    """Single clicks are deleted after a while: with two filters the page names the days that it covers, and
    compares no period with an incomplete one."""
    two = {"country_code": "DE", "device_type": "mobile"}
    asked_for = "country_code=DE&device_type=mobile"
    page = desk.get(f"/statistics/overview?{asked_for}&period=7d", headers=HTMX).text
    assert "stored for a limited time" not in page
    since = prune(settings, session, monkeypatch)
    report = answer(session, asked(past, filters=two))
    page = desk.get(f"/statistics/overview?{asked_for}", headers=HTMX).text
    words = figures.span_words(Span(since, today()))
    assert f"stored for a limited time: what you see covers {words}." in " ".join(page.split())
    assert f'<span class="value">{report.pageviews:,}</span>' in page
    page = desk.get(f"/statistics/overview?{asked_for}&period=7d", headers=HTMX).text
    assert "of which no day is still stored" in page
    assert "was " not in page
    whole = answer(session, asked(past))
    assert (
        f'<span class="value">{whole.pageviews:,}</span>'
        in desk.get("/statistics/overview", headers=HTMX).text
    )


def test_clicks_of_deleted_links_stay_in_the_owners_sums(desk: Desk, past: Past, session: Any) -> None:
    """The sums keep the clicks of a link in the trash or purged, but the lists leave the link out."""
    before, gone, days = answer(session, asked(past)).pageviews, past.second.id, asked(past)
    assert desk.post(f"/links/{gone}/delete", {}).status_code in {200, 303}
    for _ in range(2):
        session.rollback()
        overview = desk.get("/statistics/overview", headers=HTMX).text
        assert f'<span class="value">{before:,}</span>' in overview
        assert "second" not in desk.get("/statistics/links", headers=HTMX).text
        assert "first" in desk.get("/statistics/links", headers=HTMX).text
        assert desk.get(f"/links/{gone}/statistics/").status_code == 404
        assert answer(session, days).pageviews == before
        assert "deleted since are counted here, too" in desk.get("/statistics/").text
        assert desk.get("/statistics/latest", headers=HTMX).status_code == 200
        session.execute(delete(Trashed))  # as after thirty days
        session.commit()


@pytest.mark.settings(CLICKS_URL="clickhouse://127.0.0.1:9/clicks")
def test_the_list_goes_on_and_statistics_say_so(desk: Desk, alice: User, factory: Factory) -> None:
    link = factory.link(alice, url="goes-on")
    assert "goes-on" in desk.get("/links/").text
    page = desk.get(f"/links/{link.id}/statistics/")
    assert page.status_code == 503
    assert "Statistics are not available right now" in page.text
