"""How do a thousand visitors come to a real server at the same moment?"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import requests

from tests.server import BROWSER, Server

SECONDS = 120


async def ask(port: int, path: str, start: asyncio.Event, ready: asyncio.Semaphore) -> tuple[int, str]:
    """One visitor, who is connected before all ask at once. The status, and where to."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    ready.release()
    await start.wait()
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: {BROWSER}\r\nConnection: close\r\n\r\n".encode()
    )
    head, _, _ = (await reader.read()).decode("latin-1").partition("\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    status, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(status.split()[1]), headers.get("location", "")


async def come(port: int, path: str, visitors: int) -> Counter[tuple[int, str]]:
    start, ready = asyncio.Event(), asyncio.Semaphore(0)
    asking = [asyncio.create_task(ask(port, path, start, ready)) for _ in range(visitors)]
    for _ in asking:
        await ready.acquire()
    start.set()
    return Counter(await asyncio.gather(*asking))


def visit_at_once(port: int, path: str, visitors: int) -> Counter[tuple[int, str]]:
    """How many got which status and address. In a thread: this one may have a browser's loop running."""

    def run() -> Counter[tuple[int, str]]:
        return asyncio.run(asyncio.wait_for(come(port, path, visitors), SECONDS))

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


class Owner:
    """The owner of a real server, who makes links and looks at them."""

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

    def change(self, link_id: int, **fields: Any) -> None:
        answer = self.session.post(f"{self.site}/links/{link_id}", json=fields, timeout=SECONDS)
        assert answer.status_code == 200, answer.text

    def clicks(self, link_id: int) -> int:
        return int(self.session.get(f"{self.site}/links/{link_id}", timeout=SECONDS).json()["data"]["clicks"])
