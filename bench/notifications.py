"""Delay of notifications, and redirects beside hanging receivers: `python -m bench.notifications`

The whole service, one web process and the worker, runs on one core; receivers and visitors on the other.
Receivers are real servers on the loopback. Redirects are compared within the run: in quiet, and while a
hundred receivers hang.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import requests

from app import create_app
from app.core.config import load_settings
from app.core.database import begin_write
from app.core.extensions import db
from app.notifications.outbox import deliver
from bench.redirects import load, on_core, require_programs, running_server
from tests.crowds import Owner
from tests.server import BROWSER, Server, wait_for

RATE, EVENT_SECONDS, CROWDED_SECONDS, TIMES_P99 = 200, 2.0, 5.0, 1.2
HANGING, HANG_SECONDS, WAITING_EACH = 100, 60, 20
LINK = {
    "id": 1,
    "url": "a",
    "short_url": "https://go.example/a",
    "location_url": "https://example.com/",
    "clicks": 1,
}


class Receivers(ThreadingHTTPServer):
    """A server where every path is a receiver. Those under /hangs answer after a minute, others at once."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.heard: list[tuple[str, float, dict[str, Any]]] = []
        self.hanging = 0
        self.over = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def at(self, path: str) -> list[tuple[float, dict[str, Any]]]:
        return [(when, said) for where, when, said in list(self.heard) if where == path]


class Receiver(BaseHTTPRequestHandler):
    server: Receivers

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path.startswith("/hangs"):
            self.server.hanging += 1
            self.server.over.wait(HANG_SECONDS)
            self.server.hanging -= 1
        self.server.heard.append((self.path, time.time(), json.loads(body)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def receivers() -> Iterator[Receivers]:
    made = Receivers()
    try:
        yield made
    finally:
        made.over.set()
        made.shutdown()
        made.server_close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--waiting", type=int, default=10_000, help="deliveries")
    parser.add_argument("--events", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7, help="of redirects")
    options = parser.parse_args()
    require_programs("wrk")
    with (
        tempfile.TemporaryDirectory() as directory,
        running_server(Path(directory), ALLOW_PRIVATE_NETWORKS="127.0.0.0/8") as server,
        on_core(0),
        receivers() as sink,
    ):
        owner = Owner(server)
        owner.make_link(url="hot", location_url="https://example.com/a/page?x=1")
        met = [
            throughput(server, owner, sink, options.waiting),
            promptness(server, owner, sink, options.events),
            hanging(server, owner, sink, options.events, options.rounds),
        ]
    if not all(met):
        sys.exit("BELOW TARGET")


def handler(owner: Owner, url: str) -> int:
    fields = {"name": url[-20:], "type": "webhook", "webhook": url}
    answer = owner.session.post(f"{owner.site}/notification-handlers", json=fields, timeout=30)
    answer.raise_for_status()
    return int(answer.json()["data"]["id"])


def fill(server: Server, handlers: Sequence[int], each: int) -> float:
    """Queue so many deliveries for each. Returns the time of it."""
    app = create_app(load_settings(server.environ))
    with app.app_context():
        begin_write(db.session)
        for handler_id in handlers:
            for _ in range(each):
                deliver(db.session, handler_id, "link.started", {"link": LINK})
        db.session.commit()
        begun = time.time()
        db.session.remove()
        db.engine.dispose()
    return begun


def throughput(server: Server, owner: Owner, sink: Receivers, waiting: int) -> bool:
    begun = fill(server, [handler(owner, sink.url("/all"))], waiting)
    wait_for(lambda: len(sink.heard) >= waiting, "all that waits", 300)
    rate = waiting / (sink.at("/all")[-1][0] - begun)
    print(f"{waiting:,} waiting deliveries: {rate:,.0f}/s (at least {RATE})")
    return rate >= RATE


def promptness(server: Server, owner: Owner, sink: Receivers, events: int) -> bool:
    p95 = told_within(server, owner, sink, events, "/prompt")
    print(f"from the last click to the receiver, {events} times: p95 {p95:.2f} s (at most {EVENT_SECONDS:g})")
    return p95 <= EVENT_SECONDS


def told_within(server: Server, owner: Owner, sink: Receivers, events: int, path: str) -> float:
    """The 95th percentile of the seconds from using up a limit until its receiver is notified."""
    handlers = [handler(owner, sink.url(path))]
    ids = [
        owner.make_link(
            location_url="https://example.com/", clicks_limit=1, email_reports=handlers, url=f"{path[1:]}-{n}"
        )
        for n in range(events)
    ]
    used = {}
    for number, id_ in enumerate(ids):
        address = f"{server.url}/{path[1:]}-{number}"
        answer = requests.get(address, headers={"User-Agent": BROWSER}, allow_redirects=False, timeout=30)
        used[id_] = time.time()
        assert answer.status_code == 302, answer.status_code
        time.sleep(0.02)
    wait_for(lambda: len(sink.at(path)) >= events, "all events", 120)
    spent = sorted(when - used[said["data"]["link"]["id"]] for when, said in sink.at(path))
    return spent[int(len(spent) * 0.95) - 1]


def hanging(server: Server, owner: Owner, sink: Receivers, events: int, rounds: int) -> bool:
    quiet = p99(server, rounds)
    ids = [handler(owner, sink.url(f"/hangs/{number}")) for number in range(HANGING)]
    fill(server, ids, WAITING_EACH)
    wait_for(lambda: sink.hanging >= HANGING, "all to hang", 60)
    p95 = told_within(server, owner, sink, events, "/healthy")
    print(f"with {HANGING} receivers hanging, a healthy one: p95 {p95:.2f} s (at most {CROWDED_SECONDS:g})")
    fill(server, ids, 1)
    crowded = p99(server, rounds)
    times = crowded / quiet
    print(f"redirects' p99: {quiet:.2f} ms before, {crowded:.2f} ms then, at most {TIMES_P99} times as much")
    return p95 <= CROWDED_SECONDS and times <= TIMES_P99


def p99(server: Server, rounds: int) -> float:
    """The best of some rounds after the first: other load on the machine only makes it worse."""
    seen = [load(f"{server.url}/hot", 2).p99_ms for _ in range(rounds + 1)][1:]
    print("  p99 of redirects in ms, round by round:", *(f"{one:.1f}" for one in seen))
    return min(seen)


if __name__ == "__main__":
    main()
