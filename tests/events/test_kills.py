"""Kills of web processes and the worker while visitors come: the feed has each click once, in one order."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress

import pytest
import requests

from tests.cli.test_serve import children, main_pid
from tests.crowds import Owner
from tests.server import BROWSER, Server, wait_for
from tests.test_kills import counted_visits

VISITORS = 6
SECONDS = 60


class Crowd:
    """Visits with a number each, by connections that are opened again after each kill."""

    def __init__(self, server: Server, visits: int) -> None:
        self.port, self.visits = server.port, visits
        self.lock = threading.Lock()
        self.asked = 0
        self.answered: set[str] = set()
        self.threads = [threading.Thread(target=self.come) for _ in range(VISITORS)]

    def come(self) -> None:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        while number := self.next_number():
            self.wait_for_server(line)
            try:
                line.request("GET", f"/hot?utm_source={number}", headers={"User-Agent": BROWSER})
                answer = line.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                line.close()  # killed: this visit has no answer, so it may count or not
                continue
            assert answer.status == 302
            with self.lock:
                self.answered.add(number)
        line.close()

    def wait_for_server(self, line: http.client.HTTPConnection) -> None:
        """Connect, where there is no connection. What was refused has sent nothing, so it is tried again."""
        while line.sock is None:
            try:
                line.connect()
            except (ConnectionRefusedError, ConnectionResetError):  # or nobody has taken it up
                time.sleep(0.05)

    def next_number(self) -> str:
        with self.lock:
            if self.asked >= self.visits:
                return ""
            self.asked += 1
            return str(self.asked)


class Follower:
    """Reads the feed from the start, page after page, whatever is killed meanwhile."""

    def __init__(self, owner: Owner, limit: int = 97) -> None:
        self.owner, self.limit = owner, limit
        self.cursor = ""
        self.read: list[bytes] = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.follow)

    def follow(self) -> None:
        while not self.is_over.is_set():
            if not self.step():
                time.sleep(0.05)

    def step(self) -> bool:
        """Reads a page; returns whether it had events. One that is not answered is asked for again."""
        try:
            answer = self.owner.session.get(
                f"{self.owner.site}/events",
                params={"limit": self.limit, "after": self.cursor},
                headers={"Connection": "close"},
                timeout=SECONDS,
            )
        except requests.RequestException:
            return False
        assert answer.status_code in {200, 503}, answer.text
        if answer.status_code == 503:  # the database is busy
            return False
        page = answer.json()
        self.read += [json.dumps(event).encode() for event in page["data"]]
        self.cursor = page["meta"]["next"]
        return bool(page["data"])

    def finish(self) -> list[bytes]:
        while self.step():
            pass
        return self.read


def kill_one(server: Server, luck: random.Random) -> None:
    """Kill a web process or the worker. The main process starts another; where it gives up after many, `serve`
    is started again, as a service manager does."""
    if found := children(main_pid(server)):
        with suppress(ProcessLookupError):
            os.kill(luck.choice(found), signal.SIGKILL)
    wait_for(lambda: is_serving(server), "a web process", seconds=SECONDS)


def is_serving(server: Server) -> bool:
    if server.process is None or server.process.poll() is not None:
        server.start()
    try:
        return server.status("/healthz") == 200
    except (OSError, http.client.HTTPException):
        return False


def waiting_changes(server: Server) -> list[tuple[object, ...]]:
    """Changes that have no place in the feed yet."""
    with closing(sqlite3.connect(server.data_dir / "main.db")) as connection:
        return connection.execute("SELECT id FROM event_draft").fetchall()


@pytest.mark.full
def test_thirty_kills_while_ten_thousand_come(make_server: Callable[..., Server]) -> None:
    visits, kills = 10_000, 30
    server, luck = make_server(PROCESSES="2", API_RATE_LIMIT="0"), random.Random(19)
    owner = Owner(server)
    owner.make_link(url="hot", location_url="https://example.com/")
    crowd, follower = Crowd(server, visits), Follower(owner)
    for thread in [follower.thread, *crowd.threads]:
        thread.start()
    for kill in range(1, kills + 1):
        part = visits * kill // (kills + 1)
        # the main process may give up only after it has answered, so that nobody would come any more
        wait_for(
            lambda part=part: is_serving(server) and crowd.asked >= part, f"{part} visits", seconds=SECONDS
        )
        kill_one(server, luck)
    for thread in crowd.threads:
        while thread.is_alive():
            wait_for(lambda: is_serving(server), "a web process", seconds=SECONDS)
            thread.join(0.2)
    # the main process may give up after the last visit, too
    wait_for(
        lambda: is_serving(server) and set(counted_visits(server)) >= crowd.answered,
        "all rows",
        seconds=4 * SECONDS,
    )
    wait_for(lambda: is_serving(server) and server.is_ready(), "a ready server", seconds=SECONDS)
    # a worker that was just started may have stored all clicks before it has given the change its place
    wait_for(lambda: not waiting_changes(server), "the changes' places", seconds=SECONDS)
    follower.is_over.set()
    follower.thread.join()
    followed = follower.finish()
    first, second = Follower(owner).finish(), Follower(owner, limit=1000).finish()
    assert first == second == followed
    events = [json.loads(event) for event in first]
    clicks = Counter(event["data"]["utm_source"] for event in events if event["type"] == "link.clicked")
    assert clicks == counted_visits(server)
    assert {number: times for number, times in clicks.items() if times != 1} == {}
    assert crowd.answered - set(clicks) == set()
    assert len({event["id"] for event in events}) == len(events)
    assert [event["type"] for event in events if event["type"] != "link.clicked"] == ["link.created"]
    assert len(crowd.answered) >= visits - kills * VISITORS
