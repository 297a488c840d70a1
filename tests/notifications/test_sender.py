"""The sender: deliveries arrive once, with several workers, slow receivers, leases and outages."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import pytest
from sqlalchemy import create_engine, func, select

from app.core.database import begin_write, engine_options, prepare_engine
from app.core.leases import LEASE, precise_now
from app.links.models import link_notification_handler
from app.links.schedule_events import tell, tell_moments
from app.net.session import OutboundSession
from app.notifications import delivery, events, outbox, sender, services, waiting
from app.notifications.models import Delivery, DeliveryAttempt, Event, NotificationHandler
from app.notifications.outbox import deliver
from app.notifications.sender import Sender
from app.notifications.site import site_of
from tests.notifications.messages import LINK
from tests.notifications.sinks import PLAIN, Sink
from tests.server import wait_for

pytestmark = pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8", BASE_URL="https://go.example")


@pytest.fixture
def sink() -> Iterator[Sink]:
    found = Sink()
    yield found
    found.close()


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    monkeypatch.setattr(delivery, "all_transports", lambda: {"webhook": PLAIN})


@pytest.fixture
def make_sender(settings) -> Iterator[Callable[[], Sender]]:
    """`make_sender()`: a running sender. All are stopped at the end."""
    made = []

    def make() -> Sender:
        engine = create_engine(settings.database_url, **engine_options(settings))
        prepare_engine(engine, settings)
        made.append(
            Sender(
                engine,
                settings,
                {"moments": tell_moments, "events": lambda session: tell(session, site_of(settings))},
            )
        )
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.stop(20)
        one.engine.dispose()


@pytest.fixture
def make_receiver(session, make_handler, alice, sink) -> Callable[..., NotificationHandler]:
    def make(path: str = "/") -> NotificationHandler:
        begin_write(session)  # for a sender may be writing, too
        return make_handler(alice, "webhook", settings={"webhook": sink.url(path)})

    return make


def states(session) -> Counter:
    session.rollback()
    return Counter(session.scalars(select(Delivery.status)))


def waits_for(session, **expected: int) -> None:
    wait_for(lambda: states(session) == expected, f"{expected}")


def send(session, handler, times: int = 1) -> list[Delivery]:
    begin_write(session)
    rows = [deliver(session, handler.id, "link.started", {"link": LINK}) for _ in range(times)]
    session.commit()
    return rows


# --- from event to arrival


@pytest.mark.databases
def test_an_event_reaches_every_handler_of_its_link_that_is_on(
    session, alice, make_link, make_receiver, make_sender, sink
):
    link = make_link(alice, "café")
    handlers = [make_receiver("/1"), make_receiver("/2"), make_receiver("/off"), make_receiver("/other")]
    services.update(handlers[2], {"is_enabled": False})
    rows = [{"link_id": link.id, "notification_handler_id": handler.id} for handler in handlers[:3]]
    session.execute(link_notification_handler.insert(), rows)
    events.raise_limit_reached(session, link.id, clicks_limit=5)
    events.raise_limit_reached(session, link.id + 1, clicks_limit=5)  # a link that is gone
    session.commit()
    make_sender()
    waits_for(session, delivered=2)
    assert session.scalar(select(func.count()).select_from(Event)) == 0
    assert sorted(at for at, _, _ in sink.heard) == ["/1", "/2"]
    assert len(set(sink.ids("/1") + sink.ids("/2"))) == 2
    shown = {"id": link.id, "url": "café", "short_url": "https://go.example/caf%C3%A9", "location_url": link.location_url, "clicks": 0}  # fmt: skip
    assert sink.heard[0][2] == {
        "type": "link.clicks_limit_reached",
        "data": {"link": shown, "clicks_limit": 5},
    }


@pytest.mark.databases
def test_two_workers_send_each_one_once(session, make_receiver, make_sender, sink):
    for path in ("/1", "/2", "/3"):
        send(session, make_receiver(path), 60)
    make_sender()
    make_sender()
    waits_for(session, delivered=180)
    assert len(sink.heard) == len({id_ for _, id_, _ in sink.heard}) == 180
    assert session.scalar(select(func.count()).select_from(DeliveryAttempt)) == 180


# --- receivers


def test_who_hangs_holds_up_nobody_else(session, make_receiver, make_sender, sink, monkeypatch):
    monkeypatch.setattr(
        sender, "OutboundSession", partial(OutboundSession, seconds=60.0)
    )  # so that none is given up meanwhile
    for number in range(20):
        send(session, make_receiver(f"/hangs/{number}"), 5)
    make_sender()
    wait_for(lambda: len(sink.heard) == 20, "one try for each of those that hang")
    send(session, make_receiver("/good"), 10)
    wait_for(lambda: len(sink.ids("/good")) == 10, "what the good one is sent")
    assert len(sink.heard) == 30  # none of those that hang was sent a second one meanwhile
    sink.released.set()
    waits_for(session, delivered=110)


def test_a_workspace_with_many_slow_receivers_holds_up_no_other(
    session, bob, make_handler, make_receiver, make_sender, sink, monkeypatch
):
    monkeypatch.setattr(sender, "OutboundSession", partial(OutboundSession, seconds=60.0))
    monkeypatch.setattr(sender, "MAX_THREADS", 16)
    monkeypatch.setattr(sender, "WORKSPACE_THREADS", 12)
    for number in range(160):
        send(session, make_receiver(f"/hangs/{number}"), 4)  # more than are looked at together
    make_sender()
    wait_for(lambda: len(sink.heard) == 8, "as many as there are threads left for others")
    begin_write(session)
    send(session, make_handler(bob, "webhook", settings={"webhook": sink.url("/good")}))
    wait_for(lambda: len(sink.ids("/good")) == 1, "what the other workspace is sent")
    assert len(sink.heard) == 9
    sink.released.set()
    waits_for(session, delivered=641)


def test_who_refuses_gets_them_one_at_a_time_and_later(
    session, make_receiver, make_sender, sink, monkeypatch
):
    monkeypatch.setattr(outbox, "PAUSES", (0.0, 300.0, 300.0))  # no second try comes while this is looked at
    handler = make_receiver("/bad")
    sink.status["/bad"] = 500
    rows = send(session, handler, 40)
    make_sender()
    wait_for(lambda: len(sink.heard) >= 40, "a try for each")
    wait_for(lambda: tries(session) == {1: 40}, "all of them written down")
    for row in rows:
        assert row.status == "pending"
        assert 300 <= (row.due - row.planned).total_seconds() <= 330
        assert [one.detail for one in row.attempts] == ["The server answered 500 Internal Server Error."]
    assert session.get(NotificationHandler, handler.id).failing_since


def tries(session) -> Counter:
    session.rollback()
    return Counter(session.scalars(select(Delivery.tries)))


def test_a_mistake_of_a_transport_is_one_failed_try(session, make_receiver, make_sender, sink, monkeypatch, caplog):  # fmt: skip
    broken = {"webhook": type(PLAIN)(label="x", settings=(), send=lambda *_: 1 / 0)}
    monkeypatch.setattr(delivery, "all_transports", lambda: broken)
    [row] = send(session, make_receiver())
    make_sender()
    wait_for(lambda: tries(session) == {1: 1}, "the try")
    assert [one.detail for one in row.attempts] == ["Waypost failed to send this; see its log."]
    assert "ZeroDivisionError" in caplog.text


# --- those who take and leave


@pytest.mark.parametrize(
    ("lease", "is_sent"),
    [(None, True), (-1, True), (90, False), (86_400, True)],
    ids=["nobody's", "of one who is gone", "of one at work", "of a clock a day ahead"],
)
def test_what_another_worker_has(session, make_receiver, make_sender, sink, lease, is_sent):
    [row] = send(session, make_receiver("/1"))
    row.who, row.lease = "another", lease and precise_now() + dt.timedelta(seconds=lease)
    session.commit()
    make_sender()
    send(session, make_receiver("/2"))
    wait_for(lambda: sink.ids("/2") and (sink.ids("/1") or not is_sent), "what is nobody's")
    assert bool(sink.ids("/1")) == is_sent
    assert dt.timedelta(seconds=15 + 20) < LEASE < dt.timedelta(seconds=60)


@pytest.mark.parametrize(
    ("planned", "due", "is_sent"),
    [(0, 300, False), (86_400, 86_700, True), (-3600, -10, True)],
    ids=["by a clock that is right", "by one a day ahead", "by one an hour behind"],
)
def test_what_was_planned(session, make_receiver, make_sender, sink, planned, due, is_sent):
    [row] = send(session, make_receiver("/1"))
    row.planned, row.due = (precise_now() + dt.timedelta(seconds=seconds) for seconds in (planned, due))
    session.commit()
    make_sender()
    send(session, make_receiver("/2"))
    wait_for(lambda: sink.ids("/2") and (sink.ids("/1") or not is_sent), "what is due")
    assert bool(sink.ids("/1")) == is_sent


@pytest.mark.full
def test_a_locked_database_is_waited_for_and_nothing_is_sent_twice(
    session, make_receiver, make_sender, sink, settings, monkeypatch, caplog
):
    send(session, make_receiver("/hangs"))
    running = make_sender()
    wait_for(lambda: sink.heard, "the try")
    session.rollback()
    with running.engine.connect() as line:
        line.connection.execute("PRAGMA busy_timeout = 100")
    with closing(sqlite3.connect(settings.data_dir / "main.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        sink.released.set()
        wait_for(lambda: "item keep failed" in caplog.text, "a word about the lock")
        other.execute("ROLLBACK")
    waits_for(session, delivered=1)
    assert len(sink.heard) == 1


def test_who_is_stopped_writes_down_what_arrives_and_gives_back_the_rest(
    session, make_receiver, make_sender, sink
):
    send(session, make_receiver("/hangs"), 5)
    running = make_sender()
    wait_for(lambda: sink.heard, "the first try")
    sink.released.set()
    running.stop(20)
    assert states(session)["delivered"] >= 1
    free = select(func.count()).where(Delivery.status == "pending", Delivery.lease.is_(None))
    assert session.scalar(free) == 5 - states(session)["delivered"]


@pytest.mark.databases
def test_switched_off_by_its_owner_what_waits_ends(session, make_receiver):
    handler, other = make_receiver(), make_receiver()
    send(session, handler, 2)
    [kept] = send(session, other)
    services.update(handler, {"is_enabled": False})
    session.commit()
    assert states(session) == {"failed": 2, "pending": 1}
    assert kept.status == "pending"


@pytest.mark.databases
def test_how_far_behind_it_is(session, make_receiver):
    assert waiting.lag(session) == (0, 0.0)
    first, second = send(session, make_receiver(), 2)
    first.due, second.due = (precise_now() + dt.timedelta(seconds=seconds) for seconds in (-90, 300))
    session.commit()
    found = waiting.lag(session)
    assert found.waiting == 1
    assert 90 <= found.seconds < 150
