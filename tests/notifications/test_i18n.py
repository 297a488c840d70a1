"""Translation of messages: texts in the owner's language, data the same in every language."""

from __future__ import annotations

import datetime as dt

import pytest

from app.i18n.languages import dashboard_languages, in_language
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


def test_what_an_owner_typed_is_never_translated() -> None:
    """A handler whose name is a message of the code by chance keeps it, in text and in data."""
    for text in messages_in(*DELIVERED):
        data = {"handler": {"id": 1, "name": text, "type": "chat_a"}}
        message = message_of(delivery(events.TEST, data), SITE, "de")
        assert message.text == f"Es funktioniert: Benachrichtigungen an {text} kommen hier an."
        assert message.data == data
