"""Engines that hang instead of failing: hot redirects go on, all else says so in time, and all comes back.

A frozen PostgreSQL takes connections and bytes, for its system does that, and answers nothing. So does one
behind a proxy that holds everything back.
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from tests.crowds import Owner
from tests.postgres_server import PostgresServer
from tests.redis_server import RedisServer
from tests.server import BROWSER, ROOT, Server, wait_for
from tests.tcp_proxy import TcpProxy

pytestmark = pytest.mark.full

READY_SECONDS = 2.0
HOT_SECONDS = 1.0  # generous: it is a millisecond on a machine that does nothing else
LOOK_UP_SECONDS = 20.0  # a look-up of a link that is not in memory, beside many others
PAGE_SECONDS = 35.0
DOCTOR_SECONDS = 120.0  # of which it waits three; the rest is its start beside other tests


class Answer(NamedTuple):
    status: int
    seconds: float
    headers: dict[str, str]
    body: str


@pytest.fixture
def proxy(postgres_server: PostgresServer) -> Iterator[TcpProxy]:
    made = TcpProxy(("127.0.0.1", postgres_server.port))
    yield made
    made.stop()


@pytest.fixture
def owner(
    postgres_server: PostgresServer, proxy: TcpProxy, make_server: Callable[..., Server]
) -> Iterator[Owner]:
    url = postgres_server.url.replace(f":{postgres_server.port}/", f":{proxy.port}/")
    server = make_server(DATABASE_URL=url, API_RATE_LIMIT="0", PROCESSES="2")
    owner = Owner(server)
    owner.make_link(url="hot", location_url="https://example.com/there")
    owner.make_link(url="cold", location_url="https://example.com/there", clicks_limit=10_000)
    yield owner
    proxy.go_on()  # before the server is asked to end
    postgres_server.thaw()


def ask(server: Server, path: str, **headers: str) -> Answer:
    began = time.monotonic()
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=2 * PAGE_SECONDS)
    try:
        line.request("GET", path, headers={"User-Agent": BROWSER, **headers})
        answer = line.getresponse()
        body = answer.read().decode()
        return Answer(
            answer.status,
            time.monotonic() - began,
            {name.lower(): value for name, value in answer.getheaders()},
            body,
        )
    finally:
        line.close()


def checks_of(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer.body)["checks"]
    return found


def warm(server: Server) -> None:
    """Have every process know the link: connections go to both."""
    for _ in range(40):
        assert ask(server, "/hot").status == 302


def clicks(postgres_server: PostgresServer) -> dict[str, int]:
    with postgres_server.connect() as connection:
        counters = "SELECT l.url, c.clicks FROM link l JOIN clicks.counter c ON c.link_id = l.id"
        return dict(connection.execute(counters).fetchall())


@pytest.mark.parametrize("fault", ["frozen", "held back"])
def test_a_silent_postgresql(
    fault: str, owner: Owner, postgres_server: PostgresServer, proxy: TcpProxy
) -> None:
    begin, end = {
        "frozen": (postgres_server.freeze, postgres_server.thaw),
        "held back": (proxy.hold, proxy.go_on),
    }[fault]
    server = owner.server
    key = {"Authorization": str(owner.session.headers["Authorization"])}
    warm(server)
    sent = 40
    begin()

    # misses and pages that wait take nothing from hot links
    with ThreadPoolExecutor(130) as crowd:
        pages = [crowd.submit(ask, server, "/api/links", **key) for _ in range(60)]
        misses = [crowd.submit(ask, server, f"/nowhere-{number}") for number in range(30)]
        limited = [crowd.submit(ask, server, "/cold") for _ in range(10)]
        while not all(each.done() for each in (*pages, *misses, *limited)):
            ready = crowd.submit(ask, server, "/readyz")
            alive = crowd.submit(ask, server, "/healthz")
            hot = [ask(server, "/hot") for _ in range(20)]
            sent += len(hot)
            assert {answer.status for answer in hot} == {302}
            assert max(answer.seconds for answer in hot) < HOT_SECONDS
            assert (alive.result().status, alive.result().seconds < HOT_SECONDS) == (200, True)
            assert (ready.result().status, ready.result().seconds < READY_SECONDS) == (503, True), (
                ready.result()
            )
            assert not checks_of(ready.result())["database"]["ok"]
    for found, seconds in ((pages, PAGE_SECONDS), (misses, LOOK_UP_SECONDS), (limited, LOOK_UP_SECONDS)):
        answers = [each.result() for each in found]
        assert {answer.status for answer in answers} == {503}
        assert max(answer.seconds for answer in answers) < seconds, sorted(one.seconds for one in answers)
        assert all(int(answer.headers["retry-after"]) > 0 for answer in answers)

    doctor = subprocess.run(
        [sys.executable, "-m", "flask", "--app", "wsgi", "doctor"],
        cwd=ROOT, env=server.environ, capture_output=True, text=True, timeout=DOCTOR_SECONDS, check=False,
    )  # fmt: skip
    assert doctor.returncode == 1
    assert re.search("PROBLEM +instance: +connection timeout", doctor.stdout), doctor.stdout

    end()
    wait_for(lambda: ask(server, "/readyz").status == 200, "a ready server", seconds=30)
    # each process finds out by itself
    wait_for(
        lambda: {ask(server, "/nowhere").status for _ in range(20)} == {404}, "both processes", seconds=30
    )
    for _ in range(10):
        assert ask(server, "/nowhere").status == 404
        assert ask(server, "/api/links", **key).status == 200
        assert ask(server, "/cold").status == 302
        assert ask(server, "/hot").status == 302
    sent += 10
    wait_for(lambda: clicks(postgres_server).get("hot") == sent, f"{sent} clicks", seconds=60)
    server.stop()  # takes in all that was written
    assert clicks(postgres_server)["hot"] == sent, "none twice"


def test_a_frozen_redis(make_server: Callable[..., Server], redis_server: RedisServer) -> None:
    server = make_server(REDIS_URL=redis_server.url)
    assert ask(server, "/readyz").status == 200
    redis_server.freeze()
    try:
        for _ in range(5):
            answer = ask(server, "/readyz")
            assert (answer.status, answer.seconds < READY_SECONDS) == (503, True), answer
            checks = checks_of(answer)
            assert [name for name, check in checks.items() if not check["ok"]] == ["redis"]
            assert ask(server, "/healthz").seconds < HOT_SECONDS
    finally:
        redis_server.thaw()
    wait_for(lambda: ask(server, "/readyz").status == 200, "a ready server", seconds=10)
