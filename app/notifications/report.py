"""Reports on the links of an owner for one period: from figures to `data` and to a message."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.geo.countries import CONTINENTS, COUNTRIES
from app.notifications.events import readable
from app.notifications.i18n import day, digits, said, territory
from app.notifications.message import BreakdownTable, Message, Section
from app.notifications.periods import ReportPeriod
from app.notifications.picture import draw
from app.notifications.site import SiteUrls

Row = Mapping[str, Any]
Data = Mapping[str, Any]

TOP = 5
# the main dimensions, as messages name them
DIMENSIONS = {
    "referrer_host": "Referrers",
    "country_code": "Countries",
    "device_type": "Devices",
    "browser_name": "Browsers",
    "os_name": "Systems",
}
NAMES: dict[str, Mapping[str, str]] = {
    "continent_code": CONTINENTS,
    "device_type": {"desktop": "Desktop", "mobile": "Mobile", "tablet": "Tablet"},
}
TITLES = {"daily": "Daily report", "weekly": "Weekly report", "monthly": "Monthly report"}
MAX_PICTURES = 10  # in one message


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of one link in a period: `days` as in the statistics overview, `top` by dimension."""

    link: Data
    days: Sequence[Row]
    pageviews: int
    visitors: int
    pageviews_before: int
    visitors_before: int
    top: Mapping[str, Sequence[Row]]


def data_of(period: ReportPeriod, timezone: str, all_figures: Sequence[Figures]) -> dict[str, Any]:
    """The contract's `data` of `link.report`, the links with most clicks first."""
    ordered = sorted(all_figures, key=lambda figures: (-figures.pageviews, figures.link["id"]))
    return {
        "period": {
            "name": period.name,
            "start_date": str(period.start),
            "end_date": str(period.end),
            "timezone": timezone,
        },
        "reports": [report_of(figures) for figures in ordered],
    }


def report_of(figures: Figures) -> dict[str, Any]:
    best = max(figures.days, key=lambda row: row["pageviews"])
    return {
        "link": dict(figures.link),
        "pageviews": figures.pageviews,
        "visitors": figures.visitors,
        "previous": {"pageviews": figures.pageviews_before, "visitors": figures.visitors_before},
        "change_percent": change(figures.pageviews, figures.pageviews_before),
        "best_day": dict(best) if best["pageviews"] else None,
        "days": [dict(row) for row in figures.days],
        "top": {name: [dict(row) for row in rows[:TOP]] for name, rows in figures.top.items()},
    }


def change(now: int, before: int) -> int | None:
    """The change in per cent; None where there was nothing before."""
    return round((now - before) * 100 / before) if before else None


# --- in words


def compose(id: str, type_: str, datetime: dt.datetime, data: Data, site: SiteUrls) -> Message:
    """The message of a report. It depends on `data` alone, so it is the same on every attempt."""
    period, reports = data["period"], data["reports"]
    days = in_words(dt.date.fromisoformat(period["start_date"]), dt.date.fromisoformat(period["end_date"]))
    visits = sum(report["pageviews"] for report in reports)
    name = TITLES[period["name"]]
    one = (
        readable(reports[0]["link"]["short_url"])
        if len(reports) == 1
        else said("{number} links", number=digits(len(reports)))
    )
    return Message(
        id=id,
        type=type_,
        datetime=datetime,
        data=data,
        title=said("{title}: {visits} of {what}", title=said(name), visits=counted(visits), what=one),
        text=f"{days} ({period['timezone']}).",
        facts=(
            (said("Visits"), digits(visits)),
            (said("People"), digits(sum(report["visitors"] for report in reports))),
        ),
        sections=tuple(section_of(report, number, site) for number, report in enumerate(reports)),
        url=site.statistics_page(None, period["start_date"], period["end_date"]),
    )


def section_of(report: Data, number: int, site: SiteUrls) -> Section:
    days = tuple((dt.date.fromisoformat(row["formatted_date"]), row["pageviews"]) for row in report["days"])
    has_picture = len(days) > 1 and report["pageviews"] and number < MAX_PICTURES
    return Section(
        title=readable(report["link"]["short_url"]),
        url=site.statistics_page(report["link"]["id"], str(days[0][0]), str(days[-1][0])),
        facts=facts_of(report),
        days=days,
        tables=tuple(table_of(name, rows) for name, rows in report["top"].items() if rows),
        picture=draw([count for _, count in days]) if has_picture else None,
    )


def facts_of(report: Data) -> tuple[tuple[str, str], ...]:
    found = [
        (said("Visits"), digits(report["pageviews"])),
        (said("People"), digits(report["visitors"])),
        (said("Change"), change_in_words(report["change_percent"], report["previous"]["pageviews"])),
    ]
    if report["best_day"]:
        best = dt.date.fromisoformat(report["best_day"]["formatted_date"])
        found.append((said("Best day"), f"{one_day(best)}, {counted(report['best_day']['pageviews'])}"))
    return tuple(found)


def change_in_words(percent: int | None, before: int) -> str:
    if percent is None:
        return said("none the time before")
    sign = "+" if percent > 0 else "−" if percent < 0 else "±"  # a true minus sign
    changed = f"{sign}{digits(abs(percent))}"
    return said("{change} % ({before} the time before)", change=changed, before=digits(before))


def table_of(name: str, rows: Sequence[Row]) -> BreakdownTable:
    return BreakdownTable(
        title=said(DIMENSIONS[name]) if name in DIMENSIONS else name,
        rows=tuple((named(name, row[name]), row["pageviews"]) for row in rows),
    )


def named(dimension: str, value: str | None) -> str:
    if value is None:
        return said("Unknown" if dimension != "referrer_host" else "Direct or unknown")
    if dimension == "country_code":
        return territory(value, COUNTRIES.get(value, value))
    known = NAMES.get(dimension, {}).get(value)
    return said(known) if known else value


def counted(visits: int) -> str:
    return said("{number} visit" if visits == 1 else "{number} visits", number=digits(visits))


def in_words(start: dt.date, end: dt.date) -> str:
    """A range of days as `16 to 22 November 2026`, without repeating a month or year that both share."""
    if start == end:
        return day(start, "EEEE, d MMMM y")
    if start.year != end.year:
        return said("{first} to {last}", first=one_day(start), last=one_day(end))
    first = day(start, "d" if start.month == end.month else "d MMMM")
    return said("{first} to {last}", first=first, last=one_day(end))


def one_day(date: dt.date) -> str:
    return day(date, "d MMMM y")
