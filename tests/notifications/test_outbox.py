"""State changes of deliveries after each attempt, and their effect on the handler."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import select

from app.core.clock import now
from app.core.leases import precise_now
from app.net.http import HttpResponse
from app.notifications import events, services, test_send
from app.notifications.delivery import AttemptResult
from app.notifications.http_result import judge
from app.notifications.models import Delivery, DeliveryAttempt, Event
from app.notifications.outbox import PAUSES, deliver, learn, settle
from app.notifications.site import SiteUrls
from app.notifications.transport import DeliveryFailed

SITE = SiteUrls("https://go.example", "https://waypost.example")
LINK = {"id": 7, "url": "café", "short_url": "https://go.example/caf%C3%A9", "location_url": "https://example.com/", "clicks": 1234}  # fmt: skip
DATA = {"clicks_limit": 5, "reason": "The server answered 500.", "failing_since": "2026-11-20 10:00:00"}


def outcome(is_delivered: bool = False, **values: Any) -> AttemptResult:
    return AttemptResult(
        is_delivered=is_delivered, **{"detail": "d", "datetime": precise_now(), "duration_ms": 3, **values}
    )


@pytest.fixture
def handler(make_handler, alice):
    return make_handler(alice, "webhook", settings={"webhook": "https://example.com/", "secret": "whsec_x"})


@pytest.fixture
def delivery(session, handler):
    found = deliver(session, handler.id, events.LIMIT_REACHED, {"link": LINK, **DATA})
    session.commit()
    return found


# --- a delivery


def test_it_is_tried_on_the_contracts_schedule_and_then_given_up(session, delivery):
    assert (delivery.status, delivery.tries) == ("pending", 0)
    pauses = []
    for _ in PAUSES:
        settle(session, delivery, outcome())
        pauses.append(delivery.due and (delivery.due - delivery.planned).total_seconds())
    *waits, last = pauses
    for wait, asked in zip(waits, [5, 300, 1800, 7200, 18_000, 36_000, 36_000], strict=True):
        assert asked <= wait <= 1.1 * asked
    assert (last, delivery.status) == (None, "failed")
    session.commit()
    assert len(delivery.attempts) == 8


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [(60, 60, 66), (1, 5, 5.5), (10**8, 86_400, 95_040), (None, 5, 5.5)],
    ids=["longer", "shorter than the schedule", "for years", "nothing"],
)
def test_it_waits_as_long_as_the_other_side_asks(session, delivery, asked, least, most):
    settle(session, delivery, outcome(retry_after=asked))
    assert least <= (delivery.due - delivery.planned).total_seconds() <= most


@pytest.mark.parametrize(
    ("came", "last", "status"),
    [
        (outcome(True, status_code=204), False, "delivered"),
        (outcome(is_permanent=True), False, "failed"),
        (outcome(), True, "failed"),
    ],
    ids=["delivered", "never", "only one try"],
)
def test_it_ends(session, delivery, came, last, status):
    settle(session, delivery, came, is_last=last)
    session.commit()
    assert (delivery.status, delivery.due, delivery.next_attempt) == (status, None, None)


@pytest.mark.databases
def test_an_attempt_is_kept_as_it_was(session, delivery):
    settle(session, delivery, outcome(status_code=500, detail="no", answer="<html>", duration_ms=12))
    session.commit()
    [row] = session.scalars(select(DeliveryAttempt))
    assert (row.status_code, row.detail, row.answer, row.duration_ms) == (500, "no", "<html>", 12)


@pytest.mark.databases
def test_a_handler_takes_its_deliveries_along(session, delivery, handler):
    settle(session, delivery, outcome())
    session.commit()
    services.delete(handler)
    session.commit()
    assert session.scalars(select(Delivery)).all() == session.scalars(select(DeliveryAttempt)).all() == []


# --- its handler


def test_a_handler_that_is_gone_is_switched_off(handler):
    learn(handler, outcome(is_gone=True, is_permanent=True, detail="The server answered 410 Gone."))
    assert not handler.is_enabled
    assert "410" in handler.off_reason


def test_five_days_of_nothing_but_failure_switch_it_off(handler):
    learn(handler, outcome())
    assert handler.failing_since
    handler.failing_since = now() - dt.timedelta(days=5, seconds=-5)
    learn(handler, outcome())
    assert handler.is_enabled
    handler.failing_since = now() - dt.timedelta(days=5)
    learn(handler, outcome(detail="The server answered 500."))
    assert not handler.is_enabled
    assert "five days" in handler.off_reason


def test_one_arrival_forgets_all_failures(handler):
    learn(handler, outcome())
    learn(handler, outcome(True, changes={"webhook": "https://example.com/new"}))
    assert handler.failing_since is None
    assert handler.settings == {"webhook": "https://example.com/new", "secret": "whsec_x"}


@pytest.mark.parametrize(
    "changes", [{"is_enabled": True}, {"settings": {"webhook": "https://example.com/y"}}]
)
def test_who_sees_to_it_starts_anew(session, handler, changes):
    learn(handler, outcome(is_gone=True, is_permanent=True))
    session.commit()
    services.update(handler, changes)
    assert (handler.failing_since, handler.off_reason) == (None, None)


# --- a test


@pytest.mark.parametrize("is_delivered", [True, False])
def test_a_test_is_one_try_and_says_nothing_against_its_handler(session, handler, is_delivered):
    message = test_send.trial_message(handler, SITE)
    assert message.data == {"handler": {"id": handler.id, "name": handler.name, "type": "webhook"}}
    delivery = test_send.keep(session, handler, message, outcome(is_delivered, is_gone=not is_delivered))
    session.commit()
    assert (delivery.status, delivery.due) == ("delivered" if is_delivered else "failed", None)
    assert (delivery.webhook_id, len(delivery.attempts)) == (message.id, 1)
    assert (handler.is_enabled, handler.failing_since) == (True, None)


# --- events


@pytest.mark.databases
def test_an_event_is_one_row_of_the_outbox(session):
    events.raise_event(session, events.STARTED, 7, {})
    events.raise_limit_reached(session.connection(), 8, clicks_limit=5)
    session.commit()
    rows = session.scalars(select(Event).order_by(Event.id)).all()
    assert [(row.type, row.link_id, row.data) for row in rows] == [
        ("link.started", 7, {}),
        ("link.clicks_limit_reached", 8, {"clicks_limit": 5}),
    ]


# --- answers


@pytest.mark.parametrize("status", [200, 204, 299])
def test_two_hundred_and_some_has_arrived(status):
    assert judge(HttpResponse(status, (), b"ok", 1)).status_code == status


@pytest.mark.parametrize(
    ("status", "words", "gone"),
    [
        (302, "redirects", False),
        (404, "404 Not Found", False),
        (410, "410 Gone", True),
        (500, "500 Internal", False),
        (799, "799", False),
    ],
)
def test_anything_else_has_not(status, words, gone):
    with pytest.raises(DeliveryFailed) as refused:
        judge(HttpResponse(status, (("retry-after", "120"),), b"no\xff", 1))
    assert words in refused.value.reason
    assert (refused.value.gone, refused.value.retry_after, refused.value.answer) == (gone, 120.0, "no�")


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("soon", None),
        ("", None),
        ("-5", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("9" * 400, 999_999_999.0),
    ],
)
def test_what_retry_after_says(said, seconds):
    with pytest.raises(DeliveryFailed) as refused:
        judge(HttpResponse(429, (("retry-after", said),), b"", 1))
    assert refused.value.retry_after == seconds
