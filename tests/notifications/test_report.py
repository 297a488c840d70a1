"""Reports: their data for programs and their texts for people, from given figures."""

from __future__ import annotations

import datetime as dt
import io
import json

import pytest
from PIL import Image

from app.core.clock import now
from app.notifications.events import REPORT
from app.notifications.periods import ending
from app.notifications.report import Figures, change, compose, data_of, draw_chart, in_words
from app.notifications.site import SiteUrls

SITE = SiteUrls("https://go.example", "https://waypost.example")
WEEK = ending("weekly", dt.date(2026, 11, 22))


def figures(id_: int = 7, pageviews: int = 12, before: int = 8) -> Figures:
    days = [{"formatted_date": f"2026-11-{16 + n}", "pageviews": 0, "visitors": 0} for n in range(7)]
    days[2] |= {"pageviews": pageviews, "visitors": pageviews // 2}
    link = {"id": id_, "url": "café", "short_url": "https://go.example/caf%C3%A9", "location_url": "https://example.com/", "clicks": 99}  # fmt: skip
    top = {
        "country_code": [{"country_code": code, "pageviews": 5, "visitors": 3} for code in ("DE", "FR", None, "US", "PL", "IT")],
        "referrer_host": [{"referrer_host": None, "pageviews": 12, "visitors": 6}],
        "os_name": [],
    }  # fmt: skip
    return Figures(
        link=link,
        days=days,
        pageviews=pageviews,
        visitors=pageviews // 2,
        pageviews_before=before,
        visitors_before=4,
        top=top if pageviews else {},
    )


def message_of(*all_figures: Figures):
    data = json.loads(json.dumps(data_of(WEEK, "Europe/Berlin", all_figures)))  # as it is stored
    return compose("msg_1", REPORT, now(), data, SITE)


def test_what_programs_get():
    data = data_of(WEEK, "Europe/Berlin", [figures(7, 1), figures(8, 12)])
    assert data["period"] == {"name": "weekly", "start_date": "2026-11-16", "end_date": "2026-11-22", "timezone": "Europe/Berlin"}  # fmt: skip
    most, least = data["reports"]
    assert (most["link"]["id"], least["link"]["id"]) == (8, 7)
    assert (most["pageviews"], most["visitors"], most["previous"]) == (12, 6, {"pageviews": 8, "visitors": 4})
    assert most["change_percent"] == 50
    assert most["best_day"] == {"formatted_date": "2026-11-18", "pageviews": 12, "visitors": 6}
    assert len(most["days"]) == 7
    assert [row["country_code"] for row in most["top"]["country_code"]] == ["DE", "FR", None, "US", "PL"]


def test_what_people_get_of_one_link():
    message = message_of(figures())
    assert message.title == "Weekly report: 12 visits of go.example/café"
    assert message.text == "16 to 22 November 2026 (Europe/Berlin)."
    [section] = message.sections
    assert section.facts == (
        ("Visits", "12"),
        ("People", "6"),
        ("Change", "+50% (8 in the previous period)"),
        ("Best day", "18 November 2026, 12 visits"),
    )
    assert [table.title for table in section.tables] == ["Countries", "Referrers"]
    assert section.tables[0].rows[:3] == (("Germany", 5), ("France", 5), ("Unknown", 5))
    assert section.tables[1].rows == (("Direct or unknown", 12),)
    assert sum(count for _, count in section.days) == 12
    assert section.picture


def test_several_links_are_one_report():
    message = message_of(figures(1, 1), figures(2, 1200), figures(3, 0))
    assert message.title == "Weekly report: 1,201 visits of 3 links"
    assert message.facts == (("Visits", "1,201"), ("People", "600"))
    assert [section.url.split("/")[5] for section in message.sections] == ["2", "1", "3"]
    assert message.sections[0].url == (
        "https://waypost.example/dashboard/links/2/statistics/?period=custom&start_date=2026-11-16&end_date=2026-11-22"
    )


def test_a_quiet_week_has_neither_a_best_day_nor_a_picture():
    [section] = message_of(figures(pageviews=0)).sections
    assert section.facts == (("Visits", "0"), ("People", "0"), ("Change", "−100% (8 in the previous period)"))
    assert (section.picture, section.tables) == (None, ())


@pytest.mark.parametrize(
    ("now_", "before", "percent"), [(5, 0, None), (0, 0, None), (0, 4, -100), (4, 4, 0), (7, 3, 133)]
)
def test_change(now_, before, percent):
    assert change(now_, before) == percent


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("2026-11-20", "2026-11-20", "Friday, 20 November 2026"),
        ("2026-11-16", "2026-11-22", "16 to 22 November 2026"),
        ("2026-10-26", "2026-11-01", "26 October to 1 November 2026"),
        ("2025-12-29", "2026-01-04", "29 December 2025 to 4 January 2026"),
    ],
)
def test_days_in_words(start, end, words):
    assert in_words(dt.date.fromisoformat(start), dt.date.fromisoformat(end)) == words


@pytest.mark.parametrize("counts", [[5], [0, 1, 100], [7] * 31, [0] * 7, [10**9, 1]], ids=len)
def test_a_picture_has_a_bar_for_each_day_with_visits(counts):
    png = draw_chart(counts)
    assert len(png) < 4096
    image = Image.open(io.BytesIO(png)).convert("RGB")
    row = [image.getpixel((x, image.height - 6)) for x in range(image.width)]
    bars = sum(a != b == (11, 110, 102) for a, b in zip([None, *row], row, strict=False))
    assert bars == sum(map(bool, counts))
