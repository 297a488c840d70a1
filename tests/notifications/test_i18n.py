"""Translation of messages: texts in the owner's language, data the same in every language."""

from __future__ import annotations

import datetime as dt

import pytest

from app.i18n.in_language import in_language
from app.i18n.languages import dashboard_languages
from app.notifications import events
from app.notifications.mail import compose_email
from app.notifications.models import Delivery
from app.notifications.site import SiteUrls
from app.notifications.waiting import message_of
from tests.i18n.catalogues import DELIVERED, messages_in, read_catalogue

SITE = SiteUrls("https://go.example", "https://go.example")
LINK = {"id": 1, "short_url": "https://go.example/a", "location_url": "https://example.com/", "clicks": 12345}


@pytest.mark.parametrize("language", sorted(set(dashboard_languages()) - {"en"}))
def test_nothing_is_left_in_english(language: str) -> None:
    """Add what this names to the language's messages.po, then `make languages`."""
    known = read_catalogue(language)
    texts = messages_in(*DELIVERED)
    assert len(texts) > 70
    assert [text for text in texts if not known.get(text)] == []


def delivery(type_: str, data: dict[str, object]) -> Delivery:
    return Delivery(
        webhook_id="msg_1", type=type_, datetime=dt.datetime(2026, 11, 21, tzinfo=dt.UTC), data=data
    )


def test_an_event_in_german() -> None:
    message = message_of(delivery(events.ENDED, {"link": LINK}), SITE, "de")
    assert message.title == "go.example/a ist beendet"
    assert message.facts[2] == ("Klicks", "12.345")
    assert message.data["link"] == LINK
    with in_language("de"):
        mail = compose_email(message, "Waypost <way@go.example>", "team@example.com")
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
    assert facts["Veränderung"] == "+23\N{NO-BREAK SPACE}% (1.000 im Zeitraum davor)"
    assert facts["Bester Tag"] == "17. November 2026, 1 Besuch"
    assert german.sections[0].tables[0].rows == (("Österreich", 7),)
    other = message_of(delivery(events.REPORT, data), SITE, "xx")
    assert other.title == "Weekly report: 1,234 visits of go.example/a"
    many = message_of(delivery(events.REPORT, {"period": period, "reports": [report, report]}), SITE, "de")
    assert many.title == "Wochenbericht: 2.468 Besuche von 2 Links"
    single = {"period": period, "reports": [report | {"pageviews": 1}]}
    one = message_of(delivery(events.REPORT, single), SITE, "de")
    assert one.title == "Wochenbericht: 1 Besuch von go.example/a"


DAYS = {
    "a day": ("2026-11-16", "2026-11-16", "Montag, 16. November 2026", "Monday, 16 November 2026"),
    "a month": ("2026-11-01", "2026-11-30", "1. bis 30. November 2026", "1 to 30 November 2026"),
    "two months": (
        "2026-10-26",
        "2026-11-01",
        "26. Oktober bis 1. November 2026",
        "26 October to 1 November 2026",
    ),
    "two years": (
        "2026-12-28",
        "2027-01-03",
        "28. Dezember 2026 bis 3. Januar 2027",
        "28 December 2026 to 3 January 2027",
    ),
    "a month of two years": (
        "2026-01-05",
        "2027-01-03",
        "5. Januar 2026 bis 3. Januar 2027",
        "5 January 2026 to 3 January 2027",
    ),
}


@pytest.mark.parametrize("name", DAYS)
def test_the_days_of_a_report(name: str) -> None:
    start, end, german, english = DAYS[name]
    period = {"name": "daily", "start_date": start, "end_date": end, "timezone": "UTC"}
    for language, text in (("de", german), ("en", english)):
        found = message_of(delivery(events.REPORT, {"period": period, "reports": []}), SITE, language)
        assert found.text == f"{text} (UTC)."


def test_what_an_owner_typed_is_never_translated() -> None:
    """A handler whose name is a message of the code by chance keeps it, in text and in data."""
    for text in messages_in(*DELIVERED):
        data = {"handler": {"id": 1, "name": text, "type": "chat_a"}}
        message = message_of(delivery(events.TEST, data), SITE, "de")
        assert message.text == f"Es funktioniert: Benachrichtigungen an {text} kommen hier an."
        assert message.data == data
