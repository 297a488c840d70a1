"""Translation of messages: texts in the owner's language, data the same in every language."""

from __future__ import annotations

import ast
import datetime as dt
import re
from collections.abc import Iterator

import pytest

from app.core.config import ROOT
from app.notifications import events
from app.notifications.i18n import catalogues, said, speaking
from app.notifications.languages import de
from app.notifications.mail import composed
from app.notifications.models import Delivery
from app.notifications.report import DIMENSIONS, NAMES, TITLES
from app.notifications.site import SiteUrls
from app.notifications.waiting import message_of

SITE = SiteUrls("https://go.example", "https://go.example")
LINK = {"id": 1, "short_url": "https://go.example/a", "location_url": "https://example.com/", "clicks": 12345}
SLOTS = re.compile(r"\{(\w+)\}")


def texts() -> Iterator[str]:
    """All texts that are translated: in the tables, and in calls of `said`."""
    yield from (text for pair in events.WORDS.values() for text in pair)
    yield from [*DIMENSIONS.values(), *TITLES.values(), *NAMES["device_type"].values()]
    for path in (ROOT / "app" / "notifications").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(node, "func", None)
            is_said = getattr(name, "id", getattr(name, "attr", "")) == "said" and path.name != "i18n.py"
            for one in ast.walk(node.args[0]) if is_said and getattr(node, "args", None) else ():
                if isinstance(one, ast.Constant) and isinstance(one.value, str) and " " in one.value.strip():
                    yield one.value
    yield from re.findall(r'said\("([^"]+)"', (ROOT / "app/templates/mail/message.html").read_text())


@pytest.mark.parametrize("language", sorted(catalogues()))
def test_nothing_is_left_in_english(language: str) -> None:
    known = catalogues()[language]
    assert [text for text in dict.fromkeys(texts()) if text not in known] == []
    assert [
        text for text, other in known.items() if set(SLOTS.findall(text)) != set(SLOTS.findall(other))
    ] == []


def delivery(type_: str, data: dict[str, object]) -> Delivery:
    return Delivery(
        webhook_id="msg_1", type=type_, datetime=dt.datetime(2026, 11, 21, tzinfo=dt.UTC), data=data
    )


def test_an_event_in_german() -> None:
    message = message_of(delivery(events.ENDED, {"link": LINK}), SITE, "de")
    assert message.title == "go.example/a ist zu Ende"
    assert message.facts[2] == ("Klicks", "12.345")
    assert message.data["link"] == LINK
    with speaking("de"):
        mail = composed(message, "Waypost <way@go.example>", "team@example.com")
    html = mail.get_payload()[-1].get_content()  # type: ignore[index, union-attr]
    assert '<html lang="de">' in html
    assert "In Waypost ansehen" in html
    assert "See it" not in html


def test_a_report_in_german_and_in_what_nobody_speaks_here() -> None:
    report = {
        "link": LINK,
        "pageviews": 1234,
        "visitors": 1000,
        "previous": {"pageviews": 1000, "visitors": 900},
        "change_percent": 23,
        "best_day": {"formatted_date": "2026-11-17", "pageviews": 1, "visitors": 1},
        "days": [{"formatted_date": f"2026-11-{day}", "pageviews": day, "visitors": 1} for day in (16, 17)],
        "top": {"country_code": [{"country_code": "AT", "pageviews": 7, "visitors": 7}]},
    }
    period = {"name": "weekly", "start_date": "2026-11-16", "end_date": "2026-11-22", "timezone": "UTC"}
    data = {"period": period, "reports": [report]}
    german = message_of(delivery(events.REPORT, data), SITE, "de")
    assert german.title == "Wochenbericht: 1.234 Besuche von go.example/a"
    assert german.text == "16. bis 22. November 2026 (UTC)."
    facts = dict(german.sections[0].facts)
    assert facts["Veränderung"] == "+23 % (1.000 in der Zeit davor)"
    assert facts["Bester Tag"] == "17. November 2026, 1 Besuch"
    assert german.sections[0].tables[0].rows == (("Österreich", 7),)
    other = message_of(delivery(events.REPORT, data), SITE, "xx")
    assert other.title == "Weekly report: 1,234 visits of go.example/a"
    assert said("Visits") == "Visits"
    assert de.WORDS["Visits"] == "Besuche"
