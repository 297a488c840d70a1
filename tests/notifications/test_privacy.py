"""What notifications say of visitors: no address, no user agent and no hash of either, by any transport."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

import datetime as dt
import html
import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote_plus

import pytest
import time_machine
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.analytics.ingest import Ingest
from app.core.config import Settings
from app.core.extensions import db
from app.events.push.handlers import follow
from app.events.push.pusher import EventPusher
from app.events.push.samples import message_of_event, sample_event
from app.events.push.summary import add_to, data_of
from app.events.types import CLICKED
from app.jobs.reports import make_reports
from app.journal.codec import Visit
from app.links.models import link_notification_handler
from app.links.schedule_events import tell
from app.net.session import OutboundSession
from app.notifications import events
from app.notifications.composing import all_types
from app.notifications.delivery import attempt
from app.notifications.event_types import CHANGES
from app.notifications.event_types import TYPES as TYPES_TOLD
from app.notifications.events import raise_event
from app.notifications.feed_words import SKIPPED, SUMMARY
from app.notifications.message import Message
from app.notifications.models import Delivery, Event, NotificationHandler
from app.notifications.outbox import deliver
from app.notifications.site import site_of
from app.notifications.test_send import trial_message
from app.notifications.waiting import message_of
from tests.factories import Factory
from tests.notifications.test_transports import TYPES, filled, sink, way_out  # noqa: F401  fixtures
from tests.redirects.conftest import Person, front, person, redirect_context, visits  # noqa: F401  fixtures

pytestmark = pytest.mark.settings(BASE_URL="https://go.example")

MARK = "Xyzzy4711"  # in every agent
VISITORS = {
    "203.0.113.77": f"Mozilla/5.0 (X11; Linux x86_64) {MARK}/1.0 Chrome/130.0.0.0 Safari/537.36",
    "2001:db8:7:7::77": f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) {MARK} Mobile Safari/604.1",
}
# what the code that raises an event adds to the link; a limit that is reached is raised by a real visit below
DATA: dict[str, dict[str, Any]] = {
    events.STARTED: {"start_date": "2026-11-21 12:00:00"},
    events.ENDED: {"end_date": "2026-11-21 12:00:00"},
    events.FAILING: {"reason": "The server answered 500 Internal Server Error."},
    events.RECOVERED: {"failing_since": "2026-11-21 12:00:00"},
}


@pytest.fixture
def messages(
    session: scoped_session[Session],
    settings: Settings,
    factory: Factory,
    alice: User,
    person: Person,
    visits: Callable[[], list[Visit]],
) -> tuple[dict[str, Message], list[str]]:
    """A message of each type, after real visits, and the hashes of the visitors."""
    link = factory.link(alice, "limited", clicks_limit=2)
    settings_ = {"webhook": "https://example.com/", "secret": "x"}
    handler = factory.handler(
        alice, "webhook", settings=settings_, events=list(TYPES_TOLD), scope="workspace"
    )
    follow(session(), handler)
    alice.report_period, alice.report_since = "daily", link.datetime - dt.timedelta(days=3)
    session.execute(
        link_notification_handler.insert(), [{"link_id": link.id, "notification_handler_id": handler.id}]
    )
    other = factory.link(alice, "open")
    session.execute(
        link_notification_handler.insert(), [{"link_id": other.id, "notification_handler_id": handler.id}]
    )
    session.commit()
    for address, agent in VISITORS.items():
        for alias in ("limited", "open"):
            environ = {"REMOTE_ADDR": address}
            referrer = {"Referer": "https://news.example/story"}
            answer = person.open(f"/{alias}", agent=agent, headers=referrer, environ_base=environ)
            assert answer.status_code == 302
    hashes = [visit.visitor for visit in visits() if visit.visitor]
    assert len(set(hashes)) == len(VISITORS)
    for type_, data in DATA.items():
        raise_event(session, type_, link.id, data)
    session.commit()
    assert events.LIMIT_REACHED in session.scalars(select(Event.type)).all()
    ingest = Ingest(settings)
    while ingest.step():
        pass
    ingest.close()
    make_report(session, settings)
    push(session, settings, handler)
    while tell(session(), site_of(settings)):
        pass
    found = {row.type: message_of(row, site_of(settings)) for row in session.scalars(select(Delivery))}
    found[events.TEST] = trial_message(handler, site_of(settings))
    return found, hashes


def push(session: scoped_session[Session], settings: Settings, handler: NotificationHandler) -> None:
    """The clicks of the visits, in a batch and in a summary, and a message of each other type of the feed."""
    begun = Delivery.type == CLICKED
    EventPusher(db.engine, settings).turn()
    clicks = session.scalars(select(Delivery).where(begun)).one().data["clicks"]
    assert len(clicks) == len(VISITORS) * 2
    told = [{"type": CLICKED, "data": click} for click in clicks]
    deliver(session(), handler.id, SUMMARY, data_of(add_to(None, told) or {}))
    deliver(session(), handler.id, SKIPPED, {"skipped": 3, "clicks": 2, "after": "x"})
    for type_ in CHANGES:
        message = message_of_event(sample_event(type_, site_of(settings)))
        deliver(session(), handler.id, type_, message.data)
    session.commit()


def make_report(session: scoped_session[Session], settings: Settings) -> None:
    """The report of today, made tomorrow."""

    tomorrow = dt.datetime.now(dt.UTC).replace(hour=12) + dt.timedelta(days=1)
    with time_machine.travel(tomorrow, tick=False):
        make_reports(session(), settings)
        session.commit()


def arrived(sink: SimpleNamespace) -> str:
    """All that has arrived, in each way in which it could be encoded."""
    mails = "\n".join(
        str(part.get_content()) + str(part.items())
        for _, mail in sink.mail.mails
        for part in mail.walk()
        if part.get_content_maintype() == "text"
    )
    heads = "\n".join(f"{heard.path} {list(heard.headers.items())}" for heard in sink.web.heard)
    bodies = "\n".join(heard.body.decode() for heard in sink.web.heard)
    raw = f"{mails}\n{heads}\n{bodies}"
    plain = re.sub("[\u2060\\\\]", "", raw)
    return "\n".join([raw, plain, unquote_plus(raw), html.unescape(plain)])


def test_nothing_of_a_visitor_is_told(
    messages: tuple[dict[str, Message], list[str]],
    sink: SimpleNamespace,
    way_out: OutboundSession,
    session: scoped_session[Session],
) -> None:
    """By any type of handler, and in what is stored for them."""
    told, hashes = messages
    assert set(told) == set(all_types())  # a new type: raise one above
    for type_ in TYPES:
        sink.web.clear()
        sink.mail.clear()
        check(type_, told, hashes, sink, way_out)
    stored = json.dumps([row.data for row in session.scalars(select(Delivery))], ensure_ascii=False)
    assert "news.example" in stored
    assert [secret for secret in [MARK, *VISITORS, *hashes] if secret in stored] == []


def check(
    type_: str, told: dict[str, Message], hashes: list[str], sink: SimpleNamespace, way_out: OutboundSession
) -> None:
    fields = {**filled(type_, sink.web.url)}
    for name in fields:
        if name.endswith("_template"):  # one that tells all that there is
            fields[name] = '{"data": {{ event.data }}, "message": "{{ event.message }}"}'
    for message in told.values():
        outcome = attempt(type_, fields, message, way_out)
        assert outcome.is_delivered, (message.type, outcome.detail)
    assert sink.count() == len(told), type_
    text = arrived(sink)
    assert "go.example/limited" in text and "news.example" in text  # so that it would be found
    secrets = [MARK, *VISITORS, *VISITORS.values(), *hashes, "203.0.113.", "2001:db8:7"]
    assert [secret for secret in secrets if secret in text] == [], type_
