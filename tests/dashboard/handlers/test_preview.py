"""The preview beside a handler's form: a sample of what is sent, and how many clicks would have matched."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from app.accounts.models import User
from app.links.models import link_notification_handler
from app.notifications.models import NotificationHandler
from tests.dashboard.conftest import Desk
from tests.events.conftest import Feed, feed, make  # noqa: F401  fixtures

pytestmark = pytest.mark.settings(BASE_URL="https://go.example")

WEBHOOK: Mapping[str, Any] = {"type": "webhook", "name": "n", "webhook": "https://hooks.example/"}
CHAT: Mapping[str, Any] = {"type": "chat_a", "name": "n", "chat_a": "https://hooks.example/"}
CLICKS: Mapping[str, Any] = {"events": "link.clicked", "scope": "workspace"}


def shown(desk: Desk, fields: Mapping[str, Any], address: str = "/handlers/preview") -> str:
    answer = desk.post(address, fields)
    assert answer.status_code == 200
    return html.unescape(answer.text)


MATCHES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "all": ({}, "12 clicks"),
    "from a country": ({"click_filter.countries": "fr"}, "2 clicks"),
    "from some countries": ({"click_filter.countries": "DE, FR"}, "12 clicks"),
    "from nowhere": ({"click_filter.countries": "JP"}, "0 clicks"),
    "bots": ({"click_filter.is_bot": "1"}, "1 click "),
    "each fourth of a link": ({"click_filter.every": "4"}, "2 clicks"),
    "the first of a link": ({"click_filter.first": "1"}, "2 clicks"),
}


@pytest.mark.databases
def test_how_many_clicks_would_have_matched(
    desk: Desk,
    alice: User,
    feed: Feed,  # noqa: F811
    make: Callable[..., Any],  # noqa: F811
) -> None:
    first, second = make("first"), make("second")
    feed.visit(first.id, 7, country_code="DE")
    feed.visit(first.id, 2, country_code="FR")
    feed.visit(second.id, 3, country_code="DE")
    feed.visit(second.id, 1, country_code="DE", is_bot=1)
    for name, (fields, expected) in MATCHES.items():
        text = shown(desk, {**WEBHOOK, **CLICKS, **fields})
        assert f"{expected}" in text and "would have matched" in text, (name, text)


def test_a_handler_of_some_links(
    desk: Desk,
    alice: User,
    feed: Feed,  # noqa: F811
    make: Callable[..., Any],  # noqa: F811
    make_handler: Callable[..., NotificationHandler],
    session: Any,
) -> None:
    link, other = make("first"), make("second")
    handler = make_handler(alice, "chat_a", settings={"chat_a": "https://hooks.example/"})
    row = {"link_id": link.id, "notification_handler_id": handler.id}
    session.execute(link_notification_handler.insert(), [row])
    session.commit()
    feed.visit(link.id, 2)
    feed.visit(other.id, 5)
    address = f"/handlers/{handler.id}/preview"
    text = shown(desk, {**CHAT, "events": "link.clicked", "scope": "attached"}, address)
    assert "2 clicks of the last 24 hours" in text and "No link names" not in text
    text = shown(desk, {**CHAT, "events": "link.clicked", "scope": "attached"})
    assert "0 clicks of the last 24 hours" in text and "No link names this handler yet." in text


def test_what_a_webhook_gets(desk: Desk, alice: User, feed: Feed, make: Callable[..., Any]) -> None:  # noqa: F811
    made_up = shown(desk, {**WEBHOOK, **CLICKS})
    assert '"type": "link.clicked"' in made_up and "newsletter" in made_up
    feed.visit(make("spring").id, 1, referrer_host="news.example")
    real = shown(desk, {**WEBHOOK, **CLICKS})
    assert '"short_url": "https://go.example/spring"' in real and "news.example" in real
    template = '{"say": "{{ event.title }}"}'
    text = shown(desk, {**WEBHOOK, **CLICKS, "webhook_template": template})
    assert '"say": "1 click on go.example/spring"' in text
    started = shown(desk, {**WEBHOOK, "events": "link.started"})
    assert '"type": "link.started"' in started and "would have matched" not in started
