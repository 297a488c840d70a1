"""Pages of handlers: deliveries, tests and the log, the notice of one that was disabled, and the preview beside the form."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from app.accounts.models import User
from app.core.leases import precise_now
from app.links.models import link_notification_handler
from app.notifications.delivery import AttemptResult
from app.notifications.models import Delivery, NotificationHandler
from app.notifications.outbox import deliver, settle, switch_off
from app.notifications.transports.webhook import new_secret
from tests.dashboard.conftest import HTMX, Desk
from tests.events.conftest import Feed, feed, make  # noqa: F401  fixtures
from tests.notifications.conftest import web, web_receiver  # noqa: F401  fixtures
from tests.notifications.receivers import Says, WebReceiver

pytestmark = pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")

LINK = {"id": 7, "url": "launch", "short_url": "https://go.example/launch", "location_url": "https://example.com/", "clicks": 5}  # fmt: skip


@pytest.fixture
def hook(
    alice: User, make_handler: Callable[..., NotificationHandler], web: WebReceiver
) -> NotificationHandler:
    return make_handler(alice, "webhook", name="Ours", settings={"webhook": web.url, "secret": new_secret()})


@pytest.fixture
def tell(session: Any) -> Callable[..., Delivery]:
    """`tell(handler, 500)`: a delivery with one attempt that was answered with this status."""

    def tell(handler: NotificationHandler, status: int | None = 200, **values: Any) -> Delivery:
        row = deliver(session, handler.id, "link.clicks_limit_reached", {"link": LINK, "clicks_limit": 5})
        session.flush()
        if status:
            detail = "Delivered." if status < 300 else f"The server answered {status}."
            known = {
                "is_delivered": status < 300,
                "detail": detail,
                "datetime": precise_now(),
                "duration_ms": 1234,
                "status_code": status,
            }
            settle(session, row, AttemptResult(**(known | values)))
        session.commit()
        return row

    return tell


def text(page: Any) -> str:
    """The text of a page, without its markup."""
    return " ".join(re.sub(r"<[^>]*>", " ", page.text).split())


# --- the list


def test_the_list_says_how_each_one_does(
    desk: Desk, hook: NotificationHandler, make_handler: Any, alice: User, tell: Any
) -> None:
    assert "No deliveries yet" in text(desk.get("/handlers/"))
    tell(hook, 200)
    tell(hook, 503)
    make_handler(
        alice, "chat_a", name="Chat", settings={"chat_a": "https://hooks.slack.com/services/T0/B0/key"}
    )
    page = text(desk.get("/handlers/"))
    assert (
        "Click limit reached: launch failed" in page
        and "The server answered 503." in page
        and "Next try" in page
    )
    assert "hooks.slack.com" in page and "/T0/B0/key" not in page  # the path is as good as a password


def test_a_test_says_its_answer_in_a_message(desk: Desk, hook: NotificationHandler, web: WebReceiver) -> None:
    web.answers += [Says(200), Says(500), Says(200)]
    good = desk.post(f"/handlers/{hook.id}/test", {}, headers=HTMX)
    assert good.headers["HX-Trigger"] == '{"toast": "The test has arrived at Ours.", "sheet-close": true}'
    assert (
        good.headers["HX-Retarget"] == f"#row-{hook.id}"
        and "Test" in text(good)
        and "delivered" in text(good)
    )
    bad = desk.post(f"/handlers/{hook.id}/test", {}, headers=HTMX)
    assert (
        '"toast-warning": "The test has not arrived at Ours: The server answered 500 Internal Server Error."'
        in bad.headers["HX-Trigger"]
    )
    plain = desk.post(f"/handlers/{hook.id}/test", {"log": "1"})
    assert (plain.status_code, plain.location) == (303, f"/dashboard/handlers/{hook.id}/deliveries")
    assert "The test has arrived at Ours." in desk.client.get(plain.location).text
    assert desk.post(f"/handlers/{hook.id}/test", {}).location == "/dashboard/handlers/"


# --- the log


def test_the_log_shows_payload_answer_and_next_try(
    desk: Desk, hook: NotificationHandler, tell: Any, session: Any
) -> None:
    assert "No deliveries yet" in text(desk.get(f"/handlers/{hook.id}/deliveries"))
    row = tell(hook, 503, answer="<b>come later</b>")
    page = desk.get(f"/handlers/{hook.id}/deliveries")
    for words in ("Delivery log of Ours", "Waiting", "Click limit reached: launch", "The server answered 503.", "1,234 ms",
                  "Next try", row.webhook_id, "Send now"):  # fmt: skip
        assert words in text(page)
    assert "&lt;b&gt;come later&lt;/b&gt;" in page.text and "<b>come later</b>" not in page.text
    assert "&#34;type&#34;: &#34;link.clicks_limit_reached&#34;" in page.text
    assert "No deliveries match" in text(desk.get(f"/handlers/{hook.id}/deliveries?status=failed"))
    assert desk.get(f"/handlers/{hook.id}/deliveries?status=lost").status_code == 422


def test_send_again_begins_anew_with_the_same_id(
    desk: Desk, hook: NotificationHandler, tell: Any, session: Any
) -> None:
    row = tell(hook, 410, is_permanent=True)
    assert row.status == "failed"
    answer = desk.post(f"/handlers/{hook.id}/deliveries/{row.id}/again", {"log": "1"})
    assert answer.location == f"/dashboard/handlers/{hook.id}/deliveries"
    before = row.webhook_id
    session.expire_all()
    assert (row.status, row.tries, row.webhook_id, len(row.attempts)) == ("pending", 0, before, 1)
    assert row.due is not None and row.due <= precise_now()


def test_nothing_is_sent_again_to_what_is_off(
    desk: Desk, hook: NotificationHandler, tell: Any, session: Any
) -> None:
    row = tell(hook, 410, is_permanent=True)
    switch_off(hook, "It was gone.")
    session.commit()
    desk.post(f"/handlers/{hook.id}/deliveries/{row.id}/again", {"log": "1"})
    assert "Ours is off. Turn it on first." in desk.get(f"/handlers/{hook.id}/deliveries").text
    session.expire_all()
    assert row.status == "failed"


# --- switched off by itself


def test_switched_off_by_itself_is_said_everywhere(
    desk: Desk, hook: NotificationHandler, session: Any, alice: User, make_link: Any, make_handler: Any
) -> None:
    link = make_link(alice)
    make_handler(alice, name="Off by me", is_enabled=False)
    assert "switched off" not in text(desk.get("/links/"))
    switch_off(hook, "No notification has arrived for five days. The last answer: The server answered 500.")
    session.commit()
    assert "1 turned off" in text(desk.get("/links/"))  # in the navigation of every page
    assert "Webhook: turned off" in text(desk.get(f"/links/{link.id}"))  # on a link that uses the handler
    for path in ("/handlers/", f"/handlers/{hook.id}", f"/handlers/{hook.id}/deliveries"):
        page = text(desk.get(path))
        assert "No notification has arrived for five days" in page and "urn it on" in page
    assert desk.post(f"/handlers/{hook.id}/on", {}).location == "/dashboard/handlers/"
    session.expire_all()
    assert (hook.is_enabled, hook.off_reason) == (True, None)
    assert "switched off" not in text(desk.get("/handlers/"))


# --- what a handler needs


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


@pytest.mark.settings(BASE_URL="https://go.example")
@pytest.mark.databases
def test_how_many_clicks_would_have_matched(
    desk: Desk,
    alice: User,
    feed: Feed,
    make: Callable[..., Any],
) -> None:
    first, second = make("first"), make("second")
    feed.visit(first.id, 7, country_code="DE")
    feed.visit(first.id, 2, country_code="FR")
    feed.visit(second.id, 3, country_code="DE")
    feed.visit(second.id, 1, country_code="DE", is_bot=1)
    for name, (fields, expected) in MATCHES.items():
        text = shown(desk, {**WEBHOOK, **CLICKS, **fields})
        assert f"{expected}" in text and "would have matched" in text, (name, text)


@pytest.mark.settings(BASE_URL="https://go.example")
def test_a_handler_of_some_links(
    desk: Desk,
    alice: User,
    feed: Feed,
    make: Callable[..., Any],
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


@pytest.mark.settings(BASE_URL="https://go.example")
def test_what_a_webhook_gets(desk: Desk, alice: User, feed: Feed, make: Callable[..., Any]) -> None:
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
