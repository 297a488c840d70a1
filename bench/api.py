"""Speed of the API on SQLite with 100,000 links: `python -m bench.api` starts a server and measures it.

Rates are those of wrk with 16 connections, on the cores that the service runs on: each of its processes must
do its part of the work. Times are those of one connection.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from app import create_app
from app.accounts.keys import create_key
from app.accounts.workspaces import access_of
from app.core.config import default_processes, load_settings
from app.core.database import begin_write
from app.core.extensions import db
from app.links.models import Alias, Link
from bench._stored_links import chunks
from bench.idle import processor_seconds
from bench.redirects import read, require_programs
from bench.soak import family
from tests.migrations import environ, migrate
from tests.server import Server
from tests.users import create_user

CREATES, READS = 150, 2000  # a second, at least
CONNECTIONS, SECONDS = 16, 10
FAIR = 0.5  # of its even part of the work, which each web process must have done at least
READ = """
math.randomseed(1)
wrk.headers["Authorization"] = "Bearer %s"
function request()
    return wrk.format("GET", "/api/links/" .. math.random(1, %d))
end
"""
CREATE = """
wrk.method = "POST"
wrk.path = "/api/links"
wrk.headers["Authorization"] = "Bearer %s"
wrk.headers["Content-Type"] = "%s"
wrk.body = table.concat({%s}, "\\r\\n")
"""


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
        _, key = create_key(access_of(user), "bench")
        whose = access_of(user).row_columns
        for numbers in chunks(links):
            db.session.execute(sa.insert(Link), [link_row(n, whose) for n in numbers])
            db.session.execute(sa.insert(Alias), [alias_row(n, whose) for n in numbers])
        db.session.commit()
        db.engine.dispose()
    return key


def link_row(number: int, whose: dict[str, int]) -> dict[str, object]:
    destination = f"https://example.com/shelf/{number}?ref=bench"
    return {
        "id": number,
        **whose,
        "url": f"link-{number}",
        "location_url": destination,
        "targeting": [],
    }


def alias_row(number: int, whose: dict[str, int]) -> dict[str, object]:
    workspace_id = whose["workspace_id"]
    return {"domain_id": 0, "key": f"link-{number}", "link_id": number, "workspace_id": workspace_id}


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

    def rate(self, script: str) -> float:
        """Answers a second to what the script of wrk requests, over several connections at once."""
        path = self.server.data_dir.with_name("script.lua")
        path.write_text(script)
        command = [
            "wrk",
            "-t1",
            f"-c{CONNECTIONS}",
            f"-d{SECONDS}s",
            "--latency",
            "--timeout",
            "10s",
            "-s",
            str(path),
            self.server.url,
        ]
        before = self.spent()
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS + 30)
        spent = [now - then for now, then in zip(self.spent(), before, strict=True)]
        found = read(done.stdout)
        if found.failed:
            raise RuntimeError(f"{found.failed} requests failed")
        if min(spent) < FAIR * sum(spent) / len(spent):
            raise RuntimeError(f"one process did most of the work: {spent} s")
        return found.rate

    def spent(self) -> list[float]:
        """Processor seconds of each web process so far."""
        main = self.server.process
        assert main is not None
        names = {pid: Path(f"/proc/{pid}/comm").read_text() for pid in family(main.pid) if pid != main.pid}
        return [processor_seconds(pid) for pid, name in names.items() if "worker" not in name]

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

    def create(self) -> str:
        body, kind = multipart(location_url="https://example.com/new", title="New", utm_source="bench")
        lines = ", ".join(f"'{line}'" for line in body.decode().split("\r\n"))
        return CREATE % (self.key, kind, lines)

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
        reads = READ % (self.key, self.links)
        self.rate(reads)  # warms up
        yield Figure("create a link", self.rate(self.create()), CREATES, is_rate=True)
        yield Figure("read a link", self.rate(reads), READS, is_rate=True)
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
    require_programs("wrk")
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
