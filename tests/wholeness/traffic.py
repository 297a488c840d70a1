"""Traffic of members and visitors on a real server, and what each of them was told."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.crowds import make_request
from tests.import_export.test_processes import EMAIL, Visitor
from tests.server import BROWSER, SECONDS, Server, wait_for

LIMITED, UNLIMITED = "limited", "unlimited"
FIRST_BYTES = 2048
FILE_ROWS = 20
PAUSE = 0.05  # between two tries to reach a server that is away


class Crowd(NamedTuple):
    """How many threads do what at the same time."""

    visitors: int = 4
    writers: int = 3
    downloads: int = 3
    imports: int = 1


class Ledger:
    """What was sent and what was acknowledged, noted by many threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sent: dict[str, set[str]] = defaultdict(set)
        self.answered: dict[str, set[str]] = defaultdict(set)
        self.made: dict[int, str] = {}
        self.imported: set[str] = set()
        self.broken_off = 0
        self.wrong: list[str] = []
        self.began = time.monotonic()

    def visits(self) -> int:
        with self.lock:
            return sum(map(len, self.answered.values()))

    def note_wrong(self, what: str, status: int, body: bytes) -> None:
        with self.lock:
            seconds = time.monotonic() - self.began
            self.wrong.append(f"{what} after {seconds:.1f} s: {status} {body[:300].decode(errors='replace')}")


class Traffic:
    """Visits, creations, imports and broken-off downloads, until it is ended.

    Who finds the server away tries again. A request that a kill left without an answer is not repeated: it may
    have been carried out or not.
    """

    def __init__(self, server: Server, crowd: Crowd, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.ledger = Ledger()
        self.is_over = threading.Event()
        self.numbers = itertools.count(1)
        self.member = Visitor(server)
        self.key = server.flask("keys", "create", "--email", EMAIL, "--name", "test").strip()
        self.ids = {
            LIMITED: self.make_first(
                url=LIMITED, location_url="https://example.com/", clicks_limit=10_000_000
            ),
            UNLIMITED: self.make_first(url=UNLIMITED, location_url="https://example.com/"),
        }
        self.fill()
        paths = itertools.cycle((LIMITED, UNLIMITED))
        actions: list[Callable[[], None]] = [
            *(partial(self.visit, path) for path in itertools.islice(paths, crowd.visitors)),
            *[self.write] * crowd.writers,
            *[self.break_off] * crowd.downloads,
            *[self.bring] * crowd.imports,
        ]
        self.threads = [threading.Thread(target=action) for action in actions]

    def __enter__(self) -> Traffic:
        self.ledger.began = time.monotonic()
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, error: type[BaseException] | None, *_more: object) -> None:
        self.is_over.set()
        if error:
            self.server.kill()  # else some would wait for its answers
        for thread in self.threads:
            thread.join()

    def go_on(self, visits: int = 200, writes: int = 10, downloads: int = 3) -> None:
        """Wait until so many more of each were answered."""
        told = self.ledger

        def counts() -> tuple[int, int, int]:
            return told.visits(), len(told.made), told.broken_off

        least = [have + more for have, more in zip(counts(), (visits, writes, downloads), strict=True)]

        def is_there() -> bool:
            assert not told.wrong, told.wrong[:5]
            return all(have >= need for have, need in zip(counts(), least, strict=True))

        wait_for(is_there, f"more answers than {counts()}")

    # --- before it begins

    def make_first(self, **fields: object) -> int:
        line = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=SECONDS)
        status, body = self.create(line, fields)
        line.close()
        assert status == 201, body
        return int(json.loads(body)["data"]["id"])

    def fill(self) -> None:
        """Make links enough that an export is larger than an answer that is sent in one piece."""
        addresses = [f"https://example.com/filling/{number}/{'x' * 900}" for number in range(1000)]
        self.make_first(is_bulk=True, location_urls=addresses)

    # --- the threads

    def visit(self, path: str) -> None:
        line = self.connection()
        while self.is_connected(line):
            number = str(next(self.numbers))
            self.ledger.sent[path].add(number)
            try:
                line.request("GET", f"/{path}?utm_source={number}", headers={"User-Agent": BROWSER})
                answer = line.getresponse()
                body = answer.read()
            except (OSError, http.client.HTTPException):
                line.close()
                continue
            if answer.status == 302:
                with self.ledger.lock:
                    self.ledger.answered[path].add(number)
            else:
                self.ledger.note_wrong(f"visit {number} of {path}", answer.status, body)
        line.close()

    def write(self) -> None:
        line = self.connection()
        while self.is_connected(line):
            destination = f"https://example.com/made/{next(self.numbers)}"
            try:
                status, body = self.create(line, {"location_url": destination})
            except (OSError, http.client.HTTPException):
                line.close()
                continue
            if status == 201:
                self.ledger.made[int(json.loads(body)["data"]["id"])] = destination
            else:
                self.ledger.note_wrong("creation", status, body)
        line.close()

    def create(self, line: http.client.HTTPConnection, fields: object) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        line.request("POST", "/api/links", json.dumps(fields), headers)
        answer = line.getresponse()
        return answer.status, answer.read()

    def break_off(self) -> None:
        """Download an export again and again, and close the connection after its first bytes."""
        cookies = "; ".join(f"{one.name}={one.value}" for one in self.member.session.cookies)
        request = make_request(self.server.port, "/dashboard/links/export.csv", headers={"Cookie": cookies})
        while not self.is_over.is_set():
            received = b""
            with (
                suppress(OSError),
                socket.create_connection(("127.0.0.1", self.server.port), SECONDS) as line,
            ):
                line.sendall(request)
                while len(received) < FIRST_BYTES and (more := line.recv(FIRST_BYTES)):
                    received += more
            if received.startswith(b"HTTP/1.1 200 "):
                with self.ledger.lock:
                    self.ledger.broken_off += 1
            elif received:
                self.ledger.note_wrong("download", int(received.split()[1]), received)
            else:
                self.is_over.wait(PAUSE)

    def bring(self) -> None:
        """Import one small file after the other by the command, which is a process beside the server."""
        while not self.is_over.is_set():
            rows = [f"https://example.com/imported/{next(self.numbers)}" for _ in range(FILE_ROWS)]
            file = self.folder / f"{rows[0].rpartition('/')[2]}.csv"
            file.write_text("\n".join(["location_url", *rows]) + "\n")
            try:
                said = self.server.flask("import", str(file), "--email", EMAIL)
            except AssertionError as error:
                self.ledger.note_wrong("import", 1, str(error).encode()[-300:])
                continue
            if f"{FILE_ROWS} links made" in said:
                self.ledger.imported.update(rows)
            else:
                self.ledger.note_wrong("import", 0, said.encode())

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=SECONDS)

    def is_connected(self, line: http.client.HTTPConnection) -> bool:
        """Connect again where the connection was closed. False once the traffic is over."""
        while not self.is_over.is_set():
            if line.sock is not None:
                return True
            try:
                line.connect()
            except OSError:  # nobody listens, so nothing was sent
                line.close()
                self.is_over.wait(PAUSE)
        return False
