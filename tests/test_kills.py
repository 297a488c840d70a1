"""Kills of all processes under load: every answered visit is counted exactly once."""

from __future__ import annotations

import http.client
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from tests.server import BROWSER, Server, wait_for

pytestmark = pytest.mark.full

VISITS, KILLS, VISITORS = 10_000, 4, 6


class Crowd:
    """Visits one after the other on a few connections, each with a number of its own."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.path = "hot"
        self.lock = threading.Lock()
        self.asked = 0
        self.is_over = False
        self.answered: set[str] = set()

    def come(self, until: int) -> list[threading.Thread]:
        """Start to visit until so many requests were sent or the server is gone."""
        threads = [threading.Thread(target=self.visit, args=(until,)) for _ in range(VISITORS)]
        for thread in threads:
            thread.start()
        return threads

    def visit(self, until: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            while number := self.next_number(until):
                line.request("GET", f"/{self.path}?utm_source={number}", headers={"User-Agent": BROWSER})
                answer = line.getresponse()
                answer.read()
                self.note(number, answer.status)
        except (OSError, http.client.HTTPException):
            pass  # killed: this visit has no answer, so it may count or not
        finally:
            line.close()

    def note(self, number: str, status: int) -> None:
        assert status == 302
        with self.lock:
            self.answered.add(number)

    def stop(self) -> None:
        """Begin no further visit."""
        self.is_over = True

    def next_number(self, until: int) -> str:
        with self.lock:
            if self.asked >= until or self.is_over:
                return ""
            self.asked += 1
            return str(self.asked)


def test_kill_everything_while_ten_thousand_come(make_server: Callable[..., Server]) -> None:
    server = make_server(API_RATE_LIMIT="0")
    make_hot_link(server)
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

    assert crowd.asked == VISITS
    assert VISITS - KILLS * VISITORS <= len(crowd.answered) < VISITS
    wait_for(lambda: clicks(server) >= len(crowd.answered), "the clicks")
    server.stop()  # ingests all that was written
    counted = counted_visits(server)
    assert {number: n for number, n in counted.items() if n != 1} == {}
    assert crowd.answered - set(counted) == set()
    assert clicks(server) == len(counted)


def make_hot_link(server: Server) -> None:
    email = ("--email", "owner@example.com")
    server.flask("users", "create", *email, "--password-stdin", stdin="five small boats go upriver\n")
    key = server.flask("keys", "create", *email, "--name", "test").strip()
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    body = '{"url": "hot", "location_url": "https://example.com/"}'
    line.request(
        "POST", "/api/links", body, {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    )
    assert line.getresponse().status == 201
    line.close()


def ask(server: Server, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(server.data_dir / "clicks.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def counted_visits(server: Server, link_id: int | None = None) -> Counter[str]:
    """How many rows the visit of each number has."""
    of_link = "" if link_id is None else f"WHERE link_id = {link_id:d}"
    rows = ask(
        server,
        f"SELECT value, count(*) FROM click JOIN term ON term.id = utm_source_id {of_link} GROUP BY value",
    )
    return Counter({str(number): int(str(n)) for number, n in rows})


def clicks(server: Server) -> int:
    return int(str(ask(server, "SELECT sum(clicks) FROM counter")[0][0]))
