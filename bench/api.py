"""Speed of the API on SQLite with 100,000 links: `python -m bench.api` starts a server and measures it."""

from __future__ import annotations

import argparse
import json
import random
import secrets
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from app import create_app
from app.accounts.keys import create_key
from app.core.config import default_processes, load_settings
from app.core.database import begin_write
from app.core.extensions import db
from app.links.models import Alias, Link
from tests.migrations import environ, migrate
from tests.server import Server
from tests.users import create_user

CONNECTIONS = 4


@dataclass(frozen=True)
class Figure:
    """One figure and its target, a rate (more is better) or a time in ms (less is better)."""

    what: str
    value: float
    target: float
    is_rate: bool

    def __str__(self) -> str:
        unit, ratio = ("/s", self.value / self.target) if self.is_rate else ("ms", self.target / self.value)
        verdict = "" if ratio >= 1 else "  BELOW TARGET"
        figure = f"{self.what:<24}{self.value:>9.1f} {unit:<3} target {self.target:>6.0f} {unit:<3}"
        return f"{figure} ratio {ratio:>5.2f}{verdict}"


class Line:
    """A persistent connection that sends prepared requests, so that the client costs next to nothing."""

    def __init__(self, port: int, key: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"

    def ask(self, method: str, path: str, body: bytes = b"", kind: str = "") -> tuple[int, bytes]:
        sent = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n" if body else ""
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\n{self.head}{sent}\r\n".encode() + body)
        return self.answer()

    def answer(self) -> tuple[int, bytes]:
        received = b""
        while b"\r\n\r\n" not in received:
            received += self.more()
        head, _, body = received.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        parts = [body]
        missing = length - len(body)
        while missing > 0:
            parts.append(self.more())
            missing -= len(parts[-1])
        return int(head.split(b" ", 2)[1]), b"".join(parts)

    def more(self) -> bytes:
        if not (chunk := self.socket.recv(1 << 18)):
            raise ConnectionError("the server hung up")
        return chunk


def fill(data_dir: Path, links: int) -> str:
    """Store an owner with that many links. Returns an API key."""
    migrate(data_dir)
    app = create_app(load_settings(environ(data_dir)))
    with app.app_context():
        begin_write(db.session)
        user = create_user("bench@example.com", "five small boats go upriver")
        _, key = create_key(user, "bench")
        for numbers in chunks(links):
            db.session.execute(sa.insert(Link), [link_row(n, user.id) for n in numbers])
            db.session.execute(sa.insert(Alias), [alias_row(n, user.id) for n in numbers])
        db.session.commit()
        db.engine.dispose()
    return key


def chunks(links: int, size: int = 5000) -> Iterator[range]:
    return (range(first, min(first + size, links + 1)) for first in range(1, links + 1, size))


def link_row(number: int, user_id: int) -> dict[str, object]:
    destination = f"https://example.com/shelf/{number}?ref=bench"
    return {
        "id": number,
        "user_id": user_id,
        "url": f"link-{number}",
        "location_url": destination,
        "targeting": [],
    }


def alias_row(number: int, user_id: int) -> dict[str, object]:
    return {"domain_id": 0, "key": f"link-{number}", "link_id": number, "user_id": user_id}


def multipart(**fields: str) -> tuple[bytes, str]:
    """A multipart body and its content type, with a new boundary each time, as from a client."""
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n'
        for k, v in fields.items()
    ]
    return ("".join(parts) + f"--{boundary}--\r\n").encode(), f"multipart/form-data; boundary={boundary}"


class Bench:
    """Measurements of one server."""

    def __init__(self, server: Server, key: str, links: int) -> None:
        self.server, self.key, self.links = server, key, links
        self.chance = random.Random(1)

    def line(self) -> Line:
        return Line(self.server.port, self.key)

    def rate(self, count: int, ask: Callable[[Line], tuple[int, bytes]], expected: int) -> float:
        """Answers a second to `count` requests over several connections at once."""
        problems: list[str] = []
        each = count // CONNECTIONS

        def work(line: Line) -> None:
            for _ in range(each):
                status, body = ask(line)
                if status != expected:
                    problems.append(f"{status}: {body[:300]!r}")
                    return

        threads = [threading.Thread(target=work, args=(self.line(),)) for _ in range(CONNECTIONS)]
        with stopwatch() as seconds:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if problems:
            raise RuntimeError(problems[0])
        return each * CONNECTIONS / seconds()

    def milliseconds(self, count: int, ask: Callable[[Line], tuple[int, bytes]], expected: int) -> float:
        """The median time of sequential requests on one connection."""
        line, times = self.line(), []
        for _ in range(count):
            with stopwatch() as seconds:
                status, body = ask(line)
            if status != expected:
                raise RuntimeError(f"{status}: {body[:300]!r}")
            times.append(seconds() * 1000)
        return statistics.median(times)

    def create(self, line: Line) -> tuple[int, bytes]:
        body, kind = multipart(location_url="https://example.com/new", title="New", utm_source="bench")
        return line.ask("POST", "/api/links", body, kind)

    def read(self, line: Line) -> tuple[int, bytes]:
        return line.ask("GET", f"/api/links/{self.chance.randint(1, self.links)}")

    def page(self, size: int) -> Callable[[Line], tuple[int, bytes]]:
        """A page anywhere in the list: the last ones cost the most."""
        last = self.links // size
        return lambda line: line.ask(
            "GET", f"/api/links/?results_per_page={size}&page={self.chance.randint(1, last)}"
        )

    def bulk(self, line: Line) -> tuple[int, bytes]:
        urls = [f"https://example.com/bulk/{self.chance.random()}" for _ in range(1000)]
        body = json.dumps({"is_bulk": True, "location_urls": urls}).encode()
        return line.ask("POST", "/api/links", body, "application/json")

    def figures(self) -> Iterable[Figure]:
        self.rate(200, self.read, 200)  # warms up
        yield Figure("create a link", self.rate(2000, self.create, 201), 250, is_rate=True)
        yield Figure("read a link", self.rate(6000, self.read, 200), 1000, is_rate=True)
        yield Figure("list, a page of 25", self.milliseconds(200, self.page(25), 200), 20, is_rate=False)
        yield Figure("list, a page of 1,000", self.milliseconds(30, self.page(1000), 200), 250, is_rate=False)
        yield Figure("bulk of 1,000", self.milliseconds(5, self.bulk, 201), 2000, is_rate=False)


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Yields a function that returns the seconds from the block's beginning to its end."""
    began = time.perf_counter()
    ended: list[float] = []
    yield lambda: ended[0] - began
    ended.append(time.perf_counter())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=default_processes(), help="web processes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        data_dir = Path(directory) / "data"
        data_dir.mkdir()
        key = fill(data_dir, options.links)
        server = Server(
            data_dir, API_RATE_LIMIT="0", PROCESSES=str(options.processes), SECRET_KEY="a secret of the tests"
        )
        server.start()
        try:
            print(f"SQLite, {options.links:,} links, {options.processes} web, {CONNECTIONS} connections")
            for figure in Bench(server, key, options.links).figures():
                print(figure, flush=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
