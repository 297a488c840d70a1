"""Ends and kills of processes under traffic: what was acknowledged stays, and is counted once."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import requests

from tests.cli.test_serve import children, is_alive, main_pid, worker_of
from tests.server import SECONDS, Server, wait_for
from tests.test_kills import counted_visits
from tests.wholeness.traffic import Crowd, Traffic

READY_SECONDS = 5.0
# the main process waits twice as long after each kill of a worker; a new main process begins anew
PAUSE_ENOUGH = "is restarted in 4 s"
FILES = "main.db", "clicks.db"
Event = Callable[[Server], None]


def start_again(server: Server) -> None:
    """Start it as a service manager does, and wait until it is ready."""
    server.begin()
    become_ready(server)


def become_ready(server: Server) -> None:
    """Wait for `/readyz`: five seconds where these tests run alone. Beside others it may take longer."""
    is_alone = "PYTEST_XDIST_WORKER" not in os.environ
    wait_for(server.is_ready, "a ready server", seconds=READY_SECONDS if is_alone else SECONDS)


def restart(server: Server) -> None:
    server.stop()
    start_again(server)


def kill_worker(server: Server) -> None:
    (worker,) = wait_for(lambda: worker_of(server), "the worker")
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: worker_of(server) - {worker}, "the next worker")
    become_ready(server)
    if PAUSE_ENOUGH in server.written():
        restart(server)


def kill_web_process(server: Server) -> None:
    (worker,) = wait_for(lambda: worker_of(server), "the worker")
    before = set(children(main_pid(server)))
    os.kill(min(before - {worker}), signal.SIGKILL)
    wait_for(lambda: set(children(main_pid(server))) - before, "the next web process")
    become_ready(server)


def kill_main_process(server: Server) -> None:
    family = children(main_pid(server))
    os.kill(main_pid(server), signal.SIGKILL)
    assert server.process
    server.process.wait()
    wait_for(lambda: not any(map(is_alive, family)), "the end of its children")
    start_again(server)


def kill_group(server: Server) -> None:
    server.kill()
    start_again(server)


EVENTS: dict[str, Event] = {
    "SIGTERM": restart,
    "worker killed": kill_worker,
    "web process killed": kill_web_process,
    "main process killed": kill_main_process,
    "group killed": kill_group,
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """One with two web processes, of which nothing is left after the test."""
    found = Server(tmp_path / "server", PROCESSES="2", API_RATE_LIMIT="0")
    try:
        yield found.start()
    finally:
        found.kill()


@pytest.mark.parametrize("kind", EVENTS)
def test_rounds(kind: str, server: Server, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    rounds = 20 if request.config.option.full else 3
    with Traffic(server, Crowd(), tmp_path) as traffic:
        for _ in range(rounds):
            traffic.go_on()
            EVENTS[kind](server)
        traffic.go_on()
    assert traffic.ledger.imported
    check(server, traffic, is_orderly=kind == "SIGTERM")


def test_broken_off_downloads(server: Server, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    seconds = 60 if request.config.option.full else 5
    with Traffic(server, Crowd(downloads=12, imports=0), tmp_path) as traffic:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            traffic.go_on(visits=1, writes=1, downloads=1)
    assert server.status("/readyz") == 200
    check(server, traffic, is_orderly=True)


def check(server: Server, traffic: Traffic, *, is_orderly: bool) -> None:
    """All that was acknowledged is there, and every visit counts as often as it was made."""
    told = traffic.ledger
    assert told.wrong == []
    assert told.made
    for path, link_id in traffic.ids.items():
        wait_for(
            lambda link_id=link_id, path=path: (
                len(told.answered[path]) <= clicks(traffic, link_id) == in_statistics(traffic, link_id)
            ),
            f"the same clicks and statistics of the link {path}",
        )
    shown = {path: clicks(traffic, link_id) for path, link_id in traffic.ids.items()}
    server.stop()
    assert "Traceback" not in server.written()
    for name in FILES:
        assert ask(server, name, "PRAGMA integrity_check") == [("ok",)]
        assert ask(server, name, "PRAGMA foreign_key_check") == []
    for path, link_id in traffic.ids.items():
        counted = counted_visits(server, link_id)
        assert {number: times for number, times in counted.items() if times != 1} == {}
        assert told.answered[path] - set(counted) == set()
        assert set(counted) - (told.answered[path] if is_orderly else told.sent[path]) == set()
        assert shown[path] == len(counted)
    links = dict(ask(server, "main.db", "SELECT id, location_url FROM link"))
    assert {id_: links.get(id_) for id_, there in told.made.items() if links.get(id_) != there} == {}
    assert told.imported - set(links.values()) == set()


def ask(server: Server, name: str, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(server.data_dir / name)) as connection:
        return connection.execute(query).fetchall()


def read(traffic: Traffic, path: str) -> object:
    headers = {"Authorization": f"Bearer {traffic.key}"}
    answer = requests.get(f"{traffic.server.url}/api/{path}", headers=headers, timeout=SECONDS)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def clicks(traffic: Traffic, link_id: int) -> int:
    return read(traffic, f"links/{link_id}")["clicks"]


def in_statistics(traffic: Traffic, link_id: int) -> int:
    return sum(day["pageviews"] for day in read(traffic, f"statistics/{link_id}"))
