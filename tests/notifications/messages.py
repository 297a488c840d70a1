"""Sample messages of each kind, built as the outbox and the reports build them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from app.notifications.message import BreakdownTable, Message, Section

# typed text that tries to be a mention, markup or a command
NASTY = (
    "<!channel> <!here> <@U12345> @everyone @here <@&123> @channel <script>alert(1)</script> "
    "*bold* _it_ ~no~ `code` **b** [click](https://evil.example) {{DATE(2026-01-01T00:00:00Z)}} &amp; <b>x</b> "
    "#tag /start $TSLA <at>all</at> ||spoiler|| \\"
)
MOMENT = dt.datetime(2026, 11, 21, 12, 30, tzinfo=dt.UTC)
LINK = {
    "id": 7,
    "url": "launch",
    "short_url": "https://go.example/launch",
    "location_url": "https://example.com/landing?a=1&b=2",
    "clicks": 500,
}


def event(**changes: Any) -> Message:
    values: dict[str, Any] = {
        "id": "msg_0011223344556677",
        "type": "link.clicks_limit_reached",
        "datetime": MOMENT,
        "data": {"link": LINK, "clicks_limit": 500},
        "title": "go.example/launch has reached its click limit",
        "text": "All 500 clicks are used up.",
        "facts": (
            ("Short link", LINK["short_url"]),
            ("Destination", LINK["location_url"]),
            ("Clicks", "500"),
        ),
        "url": "https://go.example/dashboard/links/7",
        "stop_url": "https://go.example/dashboard/stop/token",
    }
    return Message(**(values | changes))


def nasty() -> Message:
    return event(
        title=NASTY,
        text=NASTY,
        facts=((NASTY, NASTY),),
        sections=(
            Section(
                title=NASTY,
                url="https://go.example/x",
                tables=(BreakdownTable(title="Referrers", rows=((NASTY, 3),)),),
            ),
        ),
    )


def endless() -> Message:
    """A message in which every text is longer than any service accepts."""
    long = "é😀<&*" * 3000
    return event(
        title=long, text=long, facts=tuple((long, long) for _ in range(40)), sections=report(60).sections
    )


def report(links: int = 1, days: int = 7, picture: bytes | None = None) -> Message:
    sections = tuple(section(place, days, picture) for place in range(links))
    return event(
        type="link.report",
        data={"period": "weekly", "reports": [{"link": LINK}] * links},
        title="Your weekly report",
        text="16 to 22 November 2026",
        facts=(("Visits", "1,234"), ("Visitors", "980"), ("Change", "+12 %")),
        sections=sections,
    )


def section(place: int, days: int, picture: bytes | None) -> Section:
    start = dt.date(2026, 11, 16)
    names = ("Germany", "France", "Japan", "Brazil", "Kenya")
    return Section(
        title=f"go.example/link-{place}",
        url=f"https://go.example/link-{place}",
        facts=(("Visits", "1,234"), ("Best day", "18 November, 400 visits")),
        days=tuple((start + dt.timedelta(day), day * 10) for day in range(days)),
        tables=tuple(
            BreakdownTable(title=title, rows=tuple((name, 100 - i) for i, name in enumerate(names)))
            for title in ("Countries", "Referrers", "Browsers", "Systems", "Devices")
        ),
        picture=picture,
    )


#: what every transport is given: what is usual, and what is long, odd or much
MESSAGES: dict[str, Callable[[], Message]] = {
    "event": event,
    "report": report,
    "links": lambda: report(60, 31),
    "long": endless,
    "nasty": nasty,
    "a title": lambda: event(text="", facts=(), url=None, stop_url=None),
}
