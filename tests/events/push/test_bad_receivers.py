"""Receivers of pushed events that hang, lie or are gone: nothing is lost, and the others get theirs meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session, scoped_session

from app.core.config import Settings
from app.events.push import handlers, steps
from app.net.session import OutboundSession
from app.notifications import sender as sender_module
from app.notifications.models import Delivery, EventCursor, NotificationHandler
from app.notifications.sender import Sender
from tests.events.conftest import Feed
from tests.events.push.conftest import Push
from tests.notifications.conftest import web, web_receiver  # noqa: F401  fixtures
from tests.notifications.peers import Peers, Script
from tests.notifications.receivers import Says, WebReceiver
from tests.notifications.sending import send_all
from tests.server import wait_for

# of the loopback only one address: another one is as private as any network of the operator's
pytestmark = [
    pytest.mark.databases,
    pytest.mark.settings(BASE_URL="https://go.example", ALLOW_PRIVATE_NETWORKS="127.0.0.1/32"),
]
Make = Callable[..., Any]

# what else a receiver may do with a request, and how an attempt ends then, is in tests/net/test_http.py
HOLDING: dict[str, Callable[[Peers], Script]] = {
    "accepts and never answers": lambda peers: peers.hangs,
    "trickles a body": lambda peers: peers.goes_on(b"HTTP/1.1 200 OK\r\n\r\n", b"x", 0.02),
}


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """`patience(seconds)`: how long an attempt may take, in place of 15 seconds."""

    def patience(seconds: float) -> None:
        monkeypatch.setattr(sender_module, "OutboundSession", partial(OutboundSession, seconds=seconds))

    return patience


@pytest.fixture
def sender(push: Push, settings: Settings) -> Iterator[Sender]:
    found = Sender(push.engine, settings)
    yield found
    found.stop(0)


def log_of(session: scoped_session[Session], handler: NotificationHandler) -> list[tuple[str, list[str]]]:
    """The status of each delivery, and the results of its attempts."""
    session.expire_all()
    rows = session.scalars(select(Delivery).where(Delivery.handler_id == handler.id).order_by(Delivery.id))
    found = [(row.status, [one.detail for one in row.attempts]) for row in rows]
    session.rollback()
    return found


def clicks_of(web: WebReceiver, path: str) -> list[str]:  # noqa: F811
    return [
        click["id"]
        for heard in list(web.heard)
        if heard.path == path
        for click in heard.json["data"]["clicks"]
    ]


@pytest.mark.parametrize("name", HOLDING)
def test_who_holds_the_line_holds_up_nobody(
    name: str,
    feed: Feed,
    make: Make,
    push: Push,
    follower: Make,
    sender: Sender,
    peers: Peers,
    web: WebReceiver,  # noqa: F811
    patience: Callable[[float], None],
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While one request to it goes on, all that happens arrives elsewhere, also beyond what its queue holds."""
    monkeypatch.setattr(steps, "MAX_WAITING", 2)
    patience(300)  # longer than all that follows: nothing is given up meanwhile
    tried: list[str] = []
    script = HOLDING[name](peers)

    def held(line: Any) -> None:
        tried.append("")
        script(line)

    bad = follower(settings={"webhook": peers.serve(held).url})
    good = follower(settings={"webhook": f"{web.url}/good"})
    link = make("spring")
    sender.start()
    expected: list[str] = []
    for _ in range(5):
        feed.visit(link.id, 3)
        push()
        expected = [event["id"] for event in feed.all(types=frozenset({"link.clicked"}))]
        wait_for(lambda: clicks_of(web, "/good") == expected, "the clicks of the good one")  # noqa: B023
        wait_for(lambda: tried, "the only try of the bad one")
    wait_for(lambda: [one for one, _ in log_of(session, good)] == ["delivered"] * 5, "its log")
    assert len(tried) == 1
    assert log_of(session, bad) == [("pending", [])] * 2
    assert len(push.clicks(bad)) == 6, "the rest waits in the feed"
    sender.ended.set()
    peers.over.set()


@pytest.mark.parametrize("type_", ["webhook", "chat_a"])
def test_who_is_gone_is_turned_off_and_begins_anew(
    type_: str,
    feed: Feed,
    make: Make,
    push: Push,
    follower: Make,
    sender: Sender,
    web: WebReceiver,  # noqa: F811
    session: scoped_session[Session],
) -> None:
    """(A subscription ends instead.) What happened while it was off is not sent when it is on again."""
    handler = follower(type=type_, settings={type_: f"{web.url}/gone"})
    other = follower(settings={"webhook": f"{web.url}/other"})
    link = make("spring")
    web.answers.append(Says(410))
    feed.visit(link.id, 3)
    push()
    session.execute(update(Delivery).where(Delivery.handler_id == other.id).values(due=None))
    session.commit()
    send_all(sender)
    assert log_of(session, handler) == [("failed", ["The server answered 410 Gone."])]
    session.refresh(handler)
    assert not handler.is_enabled and "gone for good" in (handler.off_reason or "")
    assert session.get(EventCursor, handler.id) is None
    feed.visit(link.id, 2)
    push()
    send_all(sender)
    assert len(web.heard) == 2 and len(push.told(handler)) == 1
    assert len(clicks_of(web, "/other")) == 2
    handlers.update(handler, {"is_enabled": True})
    session.commit()
    feed.visit(link.id)
    push()
    send_all(sender)
    _, (_, later) = push.told(handler)
    assert (later["clicks"] if type_ == "chat_a" else len(later["clicks"])) == 1
