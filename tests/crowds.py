"""Sends a thousand requests to a real server at the same moment."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlencode

import requests

from tests.server import BROWSER, Server

SECONDS = 120
NO_HEADERS: Mapping[str, str] = {}


class Reply(NamedTuple):
    status: int
    location: str
    cookie: str
    body: str


def make_request(
    port: int, path: str, *, form: Mapping[str, str] | None = None, headers: Mapping[str, str] = NO_HEADERS
) -> bytes:
    """The bytes of a browser's GET, or with `form` of the POST of that form."""
    body = urlencode(form or {}).encode()
    lines = [
        f"{'GET' if form is None else 'POST'} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"User-Agent: {BROWSER}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    if form is not None:
        lines += ["Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def ask(port: int, request: bytes, start: asyncio.Event, ready: asyncio.Semaphore) -> Reply:
    """One visitor: connects, waits for the common start, sends the request, returns the reply."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    ready.release()
    await start.wait()
    writer.write(request)
    head, _, body = (await reader.read()).decode("utf-8", "replace").partition("\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    status, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    cookie = headers.get("set-cookie", "").partition(";")[0]
    return Reply(int(status.split()[1]), headers.get("location", ""), cookie, body)


async def come(port: int, requests: Sequence[bytes]) -> list[Reply]:
    start, ready = asyncio.Event(), asyncio.Semaphore(0)
    asking = [asyncio.create_task(ask(port, request, start, ready)) for request in requests]
    for _ in asking:
        await ready.acquire()
    start.set()
    return await asyncio.gather(*asking)


def send_at_once(port: int, requests: Sequence[bytes]) -> list[Reply]:
    """All answers, in the order of the requests. In a thread: this one may run a browser's loop."""

    def run() -> list[Reply]:
        return asyncio.run(asyncio.wait_for(come(port, requests), SECONDS))

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def visit_at_once(port: int, path: str, visitors: int) -> Counter[tuple[int, str]]:
    """How many got which status and address."""
    replies = send_at_once(port, [make_request(port, path)] * visitors)
    return Counter((reply.status, reply.location) for reply in replies)


class Owner:
    """The owner of a real server, who creates and reads links by the API."""

    def __init__(self, server: Server) -> None:
        self.server = server
        email = ("--email", "owner@example.com")
        server.flask("users", "create", *email, "--password-stdin", stdin="five small boats go upriver\n")
        self.site = f"{server.url}/api"
        self.session = requests.Session()
        self.session.trust_env = False
        key = server.flask("keys", "create", *email, "--name", "test").strip()
        self.session.headers["Authorization"] = f"Bearer {key}"

    def make_link(self, **fields: Any) -> int:
        answer = self.session.post(f"{self.site}/links", json=fields, timeout=SECONDS)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["data"]["id"])

    def make_pixel(self) -> int:
        fields = {"type": "social_a", "name": "Pixel", "pixel": "123"}
        answer = self.session.post(f"{self.site}/pixels", json=fields, timeout=SECONDS)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["data"]["id"])

    def make_handler(self, **fields: Any) -> int:
        answer = self.session.post(f"{self.site}/notification-handlers", json=fields, timeout=SECONDS)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["data"]["id"])

    def change(self, link_id: int, **fields: Any) -> None:
        answer = self.session.post(f"{self.site}/links/{link_id}", json=fields, timeout=SECONDS)
        assert answer.status_code == 200, answer.text

    def clicks(self, link_id: int) -> int:
        return int(self.session.get(f"{self.site}/links/{link_id}", timeout=SECONDS).json()["data"]["clicks"])
