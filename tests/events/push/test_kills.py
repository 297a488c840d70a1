"""Clicks pushed by a real server: all arrive through kills and failures, and a first click comes once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from tests import crowds
from tests.crowds import make_request, send_at_once
from tests.events.push.receiver import ClickReceiver
from tests.server import Server, wait_for
from tests.test_kills import Crowd

pytestmark = pytest.mark.full

VISITS, KILLS, FAILS = 10_000, 30, 0.3
SETTINGS = {
    "API_RATE_LIMIT": "0",
    "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
    "GEO_COUNTRY_HEADER": "X-Country",
    "PROCESSES": "2",
}


@pytest.fixture
def receiver() -> Iterator[ClickReceiver]:
    found = ClickReceiver(FAILS)
    yield found
    found.shutdown()
    found.server_close()


class Owner(crowds.Owner):
    """An owner who subscribes receivers."""

    def subscribe(self, receiver: ClickReceiver, path: str, **fields: Any) -> None:
        sent = {"target_url": f"{receiver.url.rstrip('/')}{path}", "events": ["link.clicked"], **fields}
        answer = self.session.post(
            f"{self.site}/subscriptions", json=sent, headers={"Prefer": "return=representation"}, timeout=60
        )
        receiver.secrets[path] = answer.json()["data"]["secret"]


def counted(server: Server) -> set[str]:
    with closing(sqlite3.connect(server.data_dir / "clicks.db")) as connection:
        rows = connection.execute("SELECT id FROM click WHERE NOT is_bot").fetchall()
    return {f"clk_{id_}" for (id_,) in rows}


def hurry(server: Server) -> None:
    """Have what has failed be tried again now, not in minutes or hours."""
    with closing(sqlite3.connect(server.data_dir / "main.db", timeout=30)) as connection:
        connection.execute("UPDATE delivery SET due = '2026-01-01 00:00:00', tries = 1 WHERE due IS NOT NULL")
        connection.commit()


def test_every_counted_click_arrives(make_server: Callable[..., Server], receiver: ClickReceiver) -> None:
    server = make_server(**SETTINGS)
    owner = Owner(server)
    owner.make_link(url="hot", location_url="https://example.com/")
    owner.subscribe(receiver, "/all")
    crowd = Crowd(server.port)
    for kill in range(1, KILLS + 1):
        threads = crowd.come(until=VISITS)
        part = VISITS * kill // (KILLS + 1)
        wait_for(lambda part=part: crowd.asked >= part, f"{part} visits", seconds=120)
        server.kill()
        for thread in threads:
            thread.join()
        server.start()
    for thread in crowd.come(until=VISITS):
        thread.join()
    wait_for(lambda: len(counted(server)) >= len(crowd.answered), "the clicks")

    def have_all_arrived() -> bool:
        hurry(server)
        return set(receiver.ids.get("/all", ())) == counted(server)

    wait_for(have_all_arrived, "all clicks", seconds=300)
    assert len(counted(server)) >= VISITS - KILLS * 6
    assert receiver.failed > 10 and receiver.most <= 100
    server.stop()
    assert set(receiver.ids["/all"]) == counted(server)


def test_the_first_click_of_a_thousand_at_once(
    make_server: Callable[..., Server], receiver: ClickReceiver
) -> None:
    receiver.fails = 0.0
    server = make_server(**SETTINGS)
    owner = Owner(server)
    owner.make_link(url="hot", location_url="https://example.com/")
    owner.subscribe(receiver, "/first", click_filter={"countries": ["DE"], "first": True})
    owner.subscribe(receiver, "/all")
    requests = [
        make_request(server.port, "/hot", headers={"X-Country": "DE" if number % 2 else "FR"})
        for number in range(1000)
    ]
    replies = send_at_once(server.port, requests)
    assert {reply.status for reply in replies} == {302}
    wait_for(lambda: len(receiver.ids.get("/all", ())) == 1000, "all clicks")
    wait_for(lambda: receiver.ids.get("/first"), "the first click")
    send_at_once(server.port, requests[:50])
    wait_for(lambda: len(receiver.ids["/all"]) == 1050, "the later clicks")
    server.stop()
    assert sum(receiver.ids["/first"].values()) == 1
