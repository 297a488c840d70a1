"""Deliveries of a worker that is killed before, during and after sends: all arrive, each under one id."""

from __future__ import annotations

import datetime as dt
import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from sqlalchemy import Engine, create_engine, func, select
from sqlalchemy.orm import Session
from standardwebhooks import Webhook

from app.core import leases
from app.core.config import Settings
from app.core.database import begin_write, prepare_engine
from app.links.models import link_notification_handler
from app.links.schedule_events import tell
from app.notifications import sender
from app.notifications.events import STARTED, raise_event
from app.notifications.models import Delivery, Event
from app.notifications.sender import Sender
from app.notifications.site import site_of
from app.notifications.transports.webhook import new_secret
from tests.journal.children import Child, forks
from tests.server import wait_for

pytestmark = [
    pytest.mark.full,
    pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8", BASE_URL="https://go.example"),
]

KILLS = {"sqlite": 30, "postgresql": 6}
SECRET = new_secret()


class Verified(ThreadingHTTPServer):
    """A receiver that verifies with the official library. While it `holds`, it reads but does not answer."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.ids: dict[int, list[str]] = defaultdict(list)  # by the event's number
        self.heard = self.answered = 0
        self.goes_on = threading.Event()
        self.goes_on.set()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


class Receiver(BaseHTTPRequestHandler):
    server: Verified

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        said = Webhook(SECRET).verify(body, dict(self.headers))
        self.server.ids[said["data"]["number"]].append(self.headers["webhook-id"])
        self.server.heard += 1
        if self.server.goes_on.wait(20):
            self.send_response(204)
            self.end_headers()
            self.server.answered += 1

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def receiver() -> Iterator[Verified]:
    found = Verified()
    yield found
    found.goes_on.set()
    found.shutdown()
    found.server_close()


def work(settings: Settings, stop_at: str) -> None:
    """Run a worker that stops for ever right before its first send, or before it stores a result."""

    def stop(*_: object) -> None:
        threading.Event().wait()

    if stop_at == "before":
        sender.attempt = stop  # type: ignore[assignment]
    engine = connect(settings)
    site = site_of(settings)
    made = Sender(engine, settings, {"events": lambda session: tell(session, site)})
    if stop_at == "after":
        made.keep = lambda: bool(stop()) if made.outcomes.qsize() or made.unkept else False  # type: ignore[func-returns-value, method-assign]
    made.run()


def connect(settings: Settings) -> Engine:
    engine = create_engine(settings.database_url)
    prepare_engine(engine, settings)
    return engine


@forks
@pytest.mark.databases
def test_killed_before_during_and_after_the_send(
    database, settings, session, alice, make_link, make_handler, receiver: Verified, monkeypatch
) -> None:
    monkeypatch.setattr(leases, "LEASE", dt.timedelta(seconds=0.2))
    url = f"http://127.0.0.1:{receiver.server_port}/"
    link, handler = (
        make_link(alice),
        make_handler(alice, "webhook", settings={"webhook": url, "secret": SECRET}),
    )
    row = {"link_id": link.id, "notification_handler_id": handler.id}
    session.execute(link_notification_handler.insert(), [row])
    session.commit()
    link_id, engine, numbers = link.id, connect(settings), itertools.count()
    session.remove()
    for _, stop_at in zip(
        range(KILLS[database]), itertools.cycle(["before", "during", "after"]), strict=False
    ):
        raise_some(engine, link_id, numbers)
        heard, answered = receiver.heard, receiver.answered
        if stop_at == "during":
            receiver.goes_on.clear()
        child = Child(lambda stop_at=stop_at: work(settings, stop_at))  # type: ignore[misc]
        reached: dict[str, Callable[[], bool]] = {
            "before": lambda: claimed(engine) > 0,
            "during": lambda: receiver.heard > heard,  # noqa: B023  asked within this round
            "after": lambda: receiver.answered > answered,  # noqa: B023
        }
        wait_for(reached[stop_at], f"the moment {stop_at} the send")
        child.kill()
        receiver.goes_on.set()
    last = Child(lambda: work(settings, "never"))
    wait_for(lambda: left(engine) == 0, "everything")
    last.kill()
    arrived = {number: set(ids) for number, ids in receiver.ids.items()}
    assert sorted(arrived) == list(range(next(numbers))), "none is lost"
    assert {len(ids) for ids in arrived.values()} == {1}, "each has one id on every try"
    assert len(set.union(*arrived.values())) == len(arrived), "and no two have the same"
    repeats = sum(map(len, receiver.ids.values())) - len(arrived)
    assert repeats >= KILLS[database] // 3, "those that were killed had really sent something"
    engine.dispose()


def raise_some(engine: Engine, link_id: int, numbers: Iterator[int]) -> None:
    with Session(engine) as session:
        begin_write(session)
        for _ in range(2):
            raise_event(session, STARTED, link_id, {"number": next(numbers)})
        session.commit()


def claimed(engine: Engine) -> int:
    with engine.connect() as connection:
        now = leases.precise_now()
        return connection.scalar(select(func.count()).select_from(Delivery).where(Delivery.lease > now)) or 0


def left(engine: Engine) -> int:
    with engine.connect() as connection:
        waits = select(func.count()).select_from(Delivery).where(Delivery.due.is_not(None))
        return sum(connection.scalar(one) or 0 for one in (waits, select(func.count()).select_from(Event)))
