"""A hostile owner's tables and the servers of a hostile owner's links, for `bench.neighbours`."""

from __future__ import annotations

import asyncio
import csv
import io
import multiprocessing
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import cycle
from multiprocessing.connection import Connection
from typing import Any

import requests

from tests.import_export.hostile import FILES, HOSTILE
from tests.server import SECONDS, Server, free_port

PASSWORD = "five small boats go upriver"
POLL_SECONDS = 0.02
ENDED = frozenset({"done", "failed", "ended"})
COLUMNS = ("location_url", "url", "title", "tags", "start_date", "password")


class Window:
    """An owner's browser, signed in."""

    def __init__(self, server: Server, email: str) -> None:
        self.server = server
        self.session = requests.Session()
        self.session.trust_env = False
        self.post("/login", {"email": email, "password": PASSWORD}, "/login")

    def token(self, path: str) -> str:
        page = self.session.get(f"{self.server.url}{path}", timeout=SECONDS).text
        found = re.search(r'name="csrf_token" value="([^"]+)"', page)
        assert found, page
        return found[1]

    def post(self, path: str, fields: Mapping[str, str], page: str) -> requests.Response:
        return self.session.post(
            f"{self.server.url}{path}",
            {"csrf_token": self.token(page), **fields},
            timeout=SECONDS,
            allow_redirects=False,
        )

    def upload(self, table: bytes) -> str | None:
        """The path of the new import, or None if the table was refused."""
        answer = self.session.post(
            f"{self.server.url}/dashboard/imports/",
            files={"file": ("links.csv", table)},
            headers={"X-CSRFToken": self.token("/dashboard/imports/")},
            timeout=SECONDS,
            allow_redirects=False,
        )
        found = answer.headers.get("Location") if answer.status_code == 303 else None
        return found and found.removeprefix(self.server.url)

    def run_import(self, table: bytes, columns: Sequence[str], is_over: threading.Event) -> str:
        """Upload a table, have it checked and imported. Returns its last state, or why there was none."""
        path = self.upload(table)
        if path is None:
            return "refused"
        self.post(f"{path}/check", {f"column:{name}": name for name in columns}, path)
        found = wait_for_state(self.server, path, is_over)
        if found == "checked":
            self.post(f"{path}/take", {}, path)
            found = wait_for_state(self.server, path, is_over)
        if found not in ENDED and self.post(f"{path}/end", {}, path).status_code == 303:
            found += ", ended by its owner"
        return found


def wait_for_state(server: Server, path: str, is_over: threading.Event) -> str:
    """Wait until no process works on the import, and return its state."""
    query = "SELECT state FROM link_import WHERE id = ?"
    id_ = int(path.rpartition("/")[2])
    with closing(sqlite3.connect(f"file:{server.data_dir / 'main.db'}?mode=ro", uri=True)) as connection:
        while True:
            state = str(connection.execute(query, [id_]).fetchone()[0])
            if state not in {"checking", "taking"} or is_over.wait(POLL_SECONDS):
                return state


# --- tables


def rows_of(count: int, prefix: str, notes: str = "") -> bytes:
    lines = [f"https://example.com/{prefix}/{number},{notes}\n" for number in range(count)]
    return "".join(["location_url,title\n", *lines]).encode()


def hostile_cells() -> bytes:
    """Each hostile text in each column, among valid rows."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for position, column in enumerate(COLUMNS):
        for number, text in enumerate(HOSTILE.values()):
            row = [f"https://example.com/{position}/{number}", *[""] * (len(COLUMNS) - 1)]
            row[COLUMNS.index(column)] = text
            writer.writerow(row)
    return out.getvalue().encode("utf-8", "surrogatepass")


def hostile_tables() -> list[tuple[bytes, Sequence[str]]]:
    large = ("location_url", "title")
    return [
        (hostile_cells(), COLUMNS),
        (rows_of(100_000, "large", "t" * 150), large),
        (b"location_url,title\n" + b"http://[/x,a\n" * 90_000, large),
        *((file, large) for file in FILES.values()),
    ]


@contextmanager
def importing(server: Server, email: str, windows: int) -> Iterator[Callable[[], Counter[str]]]:
    """Imports hostile and large tables without pause inside the block. Yields a counter of their results."""
    is_over, outcomes = threading.Event(), Counter[str]()
    tables = hostile_tables()

    def bring(start: int) -> None:
        window = Window(server, email)
        for table, columns in cycle(tables[start:] + tables[:start]):
            if is_over.is_set():
                return
            try:
                outcomes[window.run_import(table, columns, is_over)] += 1
            except (requests.RequestException, AssertionError) as error:
                outcomes[type(error).__name__] += 1
                is_over.wait(1)

    threads = [threading.Thread(target=bring, args=(number,), daemon=True) for number in range(windows)]
    for thread in threads:
        thread.start()
    try:
        yield lambda: outcomes
    finally:
        is_over.set()
        for thread in threads:
            thread.join(SECONDS)


# --- servers


ANSWER = "HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n"
LOCATIONS = {
    "gopher": "gopher://h:1/",
    "bracket": "http://[::1",
    "loop": "/loop",
    "port": "http://h:99999999999/",
    "surrogate": "http://\udcff/",
}
KINDS = (*LOCATIONS, "hang", "trickle", "hang", "endless", "hang", "trickle")
TRICKLE_SECONDS = 1.0


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one connection in the way that the path names."""
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        line = await reader.readuntil(b"\r\n\r\n")
        kind = line.split()[1].decode().strip("/")
        if kind == "hang":
            await reader.read()
        elif kind in {"trickle", "endless"}:
            writer.write(b"HTTP/1.1 200 OK\r\n" + (b"X: " if kind == "endless" else b""))
            while not reader.at_eof():
                writer.write(b"x" * (60_000 if kind == "endless" else 1))
                await writer.drain()
                await asyncio.sleep(TRICKLE_SECONDS)
        else:
            location = LOCATIONS.get(kind)
            headers = f"Location: {location}\r\n" if location else ""
            text = ANSWER.format(status="302 Found" if location else "200 OK", headers=headers)
            writer.write(text.encode("utf-8", "surrogateescape"))
            await writer.drain()
    writer.close()


def run_servers(addresses: Sequence[str], port: int, out: Connection) -> None:
    async def serve() -> None:
        server = await asyncio.start_server(answer, addresses, port)
        out.send(None)
        async with server:
            await server.serve_forever()

    asyncio.run(serve())


@contextmanager
def serving(addresses: Sequence[str]) -> Iterator[int]:
    """Runs a server on each of these local addresses, all on the port that this yields."""
    context = multiprocessing.get_context("spawn")
    mine, its = context.Pipe()
    port = free_port()
    process = context.Process(target=run_servers, args=(addresses, port, its), daemon=True)
    process.start()
    try:
        assert mine.poll(SECONDS), "the servers did not start"
        mine.recv()
        yield port
    finally:
        process.terminate()
        process.join(SECONDS)


def addresses_of(network: int, count: int) -> list[str]:
    return [f"127.{network}.{number // 200}.{number % 200 + 1}" for number in range(count)]


class Api:
    """An owner's API key."""

    def __init__(self, server: Server, email: str) -> None:
        self.base = f"{server.url}/api"
        self.session = requests.Session()
        self.session.trust_env = False
        key = server.flask("keys", "create", "--email", email, "--name", "bench").strip()
        self.session.headers["Authorization"] = f"Bearer {key}"

    def create(self, path: str, **fields: Any) -> int:
        answer = self.session.post(f"{self.base}/{path}", json=fields, timeout=SECONDS)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["data"]["id"])


def wait_until_second(second: int) -> None:
    """Wait until the clock shows this second: checks begin at full minutes."""
    time.sleep((second - time.time()) % 60)
