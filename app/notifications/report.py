"""Reports on the links of an owner for one period: from figures to `data`, to a message and to pictures."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageDraw

from app.i18n import dated, digits, language, percent
from app.i18n.languages import locale_of
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.i18n.messages import ngettext, ngettext_noop, pgettext
from app.notifications.message import BreakdownTable, Message, Section
from app.notifications.periods import ReportPeriod
from app.notifications.site import SiteUrls, readable

Row = Mapping[str, Any]
Data = Mapping[str, Any]

TOP = 5
# the main dimensions, as messages name them
DIMENSIONS = {
    "referrer_host": _l("Referrers"),
    "country_code": _l("Countries"),
    "device_type": _l("Devices"),
    "browser_name": _l("Browsers"),
    "os_name": _l("Systems"),
}
DEVICES = {"desktop": _l("Desktop"), "mobile": _l("Mobile"), "tablet": _l("Tablet")}
# by the name of the period, on one link and on several
TITLES = {
    "daily": (
        ngettext_noop(
            "Daily report: %(visits)s visit of %(link)s", "Daily report: %(visits)s visits of %(link)s"
        ),
        ngettext_noop(
            "Daily report: %(visits)s visit of %(links)s links",
            "Daily report: %(visits)s visits of %(links)s links",
        ),
    ),
    "weekly": (
        ngettext_noop(
            "Weekly report: %(visits)s visit of %(link)s", "Weekly report: %(visits)s visits of %(link)s"
        ),
        ngettext_noop(
            "Weekly report: %(visits)s visit of %(links)s links",
            "Weekly report: %(visits)s visits of %(links)s links",
        ),
    ),
    "monthly": (
        ngettext_noop(
            "Monthly report: %(visits)s visit of %(link)s", "Monthly report: %(visits)s visits of %(link)s"
        ),
        ngettext_noop(
            "Monthly report: %(visits)s visit of %(links)s links",
            "Monthly report: %(visits)s visits of %(links)s links",
        ),
    ),
}
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
    return Message(
        id=id,
        type=type_,
        datetime=datetime,
        data=data,
        title=title_of(period["name"], reports, visits),
        text=f"{days} ({period['timezone']}).",
        facts=(
            (_("Visits"), digits(visits)),
            (pgettext("of a figure", "People"), digits(sum(report["visitors"] for report in reports))),
        ),
        sections=tuple(section_of(report, number, site) for number, report in enumerate(reports)),
        url=site.statistics_page(None, period["start_date"], period["end_date"]),
    )


def title_of(period: str, reports: Sequence[Data], visits: int) -> str:
    on_one, on_several = TITLES[period]
    if len(reports) == 1:
        link = readable(reports[0]["link"]["short_url"])
        return ngettext(*on_one, visits, visits=digits(visits), link=link)
    return ngettext(*on_several, visits, visits=digits(visits), links=digits(len(reports)))


def section_of(report: Data, number: int, site: SiteUrls) -> Section:
    days = tuple((dt.date.fromisoformat(row["formatted_date"]), row["pageviews"]) for row in report["days"])
    has_picture = len(days) > 1 and report["pageviews"] and number < MAX_PICTURES
    return Section(
        title=readable(report["link"]["short_url"]),
        url=site.statistics_page(report["link"]["id"], str(days[0][0]), str(days[-1][0])),
        facts=facts_of(report),
        days=days,
        tables=tuple(table_of(name, rows) for name, rows in report["top"].items() if rows),
        picture=draw_chart([count for _, count in days]) if has_picture else None,
    )


def facts_of(report: Data) -> tuple[tuple[str, str], ...]:
    found = [
        (_("Visits"), digits(report["pageviews"])),
        (pgettext("of a figure", "People"), digits(report["visitors"])),
        (
            pgettext("of a figure", "Change"),
            change_in_words(report["change_percent"], report["previous"]["pageviews"]),
        ),
    ]
    if report["best_day"]:
        best = dt.date.fromisoformat(report["best_day"]["formatted_date"])
        found.append((_("Best day"), f"{one_day(best)}, {counted(report['best_day']['pageviews'])}"))
    return tuple(found)


def change_in_words(change_percent: int | None, before: int) -> str:
    if change_percent is None:
        return _("none in the previous period")
    changed = percent(change_percent, is_signed=True)
    return _("%(change)s (%(before)s in the previous period)", change=changed, before=digits(before))


def table_of(name: str, rows: Sequence[Row]) -> BreakdownTable:
    return BreakdownTable(
        title=str(DIMENSIONS.get(name, name)),
        rows=tuple((named(name, row[name]), row["pageviews"]) for row in rows),
    )


def named(dimension: str, value: str | None) -> str:
    if value is None:
        return _("Unknown") if dimension != "referrer_host" else _("Direct or unknown")
    if dimension == "country_code":
        return str(locale_of(language()).territories.get(value, value))
    return str(DEVICES.get(value, value)) if dimension == "device_type" else value


def counted(visits: int) -> str:
    return ngettext("%(number)s visit", "%(number)s visits", visits, number=digits(visits))


def in_words(start: dt.date, end: dt.date) -> str:
    """A range of days as `16 to 22 November 2026`, without repeating a month or year that both share."""
    if start == end:
        return dated(start, "EEEE, d MMMM y")
    first = "d" if (start.year, start.month) == (end.year, end.month) else "d MMMM"
    first = "d MMMM y" if start.year != end.year else first
    return _("%(first)s to %(last)s", first=dated(start, first), last=one_day(end))


def one_day(date: dt.date) -> str:
    return dated(date, "d MMMM y")


# --- as a picture

WIDTH, HEIGHT = 1120, 240  # shown at half of it, sharp also on fine screens
GROUND, LINE, BAR = 0, 1, 2
# white, a hair-line grey, and the dashboard's green, which stands 6 to 1 against white
PALETTE = (255, 255, 255, 209, 213, 219, 11, 110, 102)


def draw_chart(counts: Sequence[int]) -> bytes:
    """A small bar chart of clicks by day, as a PNG for mails.

    It has three colours, which keeps it at a kilobyte or less.
    """
    image = Image.new("P", (WIDTH, HEIGHT), GROUND)
    image.putpalette(PALETTE)
    pen = ImageDraw.Draw(image)
    for height in (HEIGHT // 3, 2 * HEIGHT // 3):
        pen.line((0, height, WIDTH, height), LINE, 2)
    step, most = WIDTH / max(1, len(counts)), max([1, *counts])
    gap = step / 6
    for number, count in enumerate(counts):
        top = HEIGHT - 4 - round((HEIGHT - 24) * count / most)
        left = round(number * step + gap)
        right = max(left + 1, round((number + 1) * step - gap))
        if count:
            pen.rectangle((left, min(top, HEIGHT - 10), right, HEIGHT - 4), BAR)
    pen.line((0, HEIGHT - 2, WIDTH, HEIGHT - 2), LINE, 3)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True, bits=2)
    return file.getvalue()
