"""Visitors without pause in processes of their own, which count answered and unanswered requests."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event

from tests.server import BROWSER

REQUEST = f"GET /hot HTTP/1.1\r\nHost: a\r\nUser-Agent: {BROWSER}\r\n\r\n".encode()
REDIRECT = b"HTTP/1.1 302"
START_SECONDS, STOP_SECONDS = 30, 60


class Visitor(asyncio.Protocol):
    """One connection, with one request always under way. If it ends without an answer that says
    `Connection: close`, a request was left unanswered."""

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        self.answer = b""
        self.is_told = False
        self.transport: asyncio.Transport
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(REQUEST)

    def data_received(self, data: bytes) -> None:
        self.answer += data
        if not self.answer.endswith(b"\r\n\r\n"):  # a redirect has no body
            return
        self.counts["answered" if self.answer.startswith(REDIRECT) else "wrong"] += 1
        self.is_told = b"connection: close" in self.answer.lower()
        self.answer = b""
        if self.is_told:
            self.transport.close()
        else:
            self.transport.write(REQUEST)

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.is_told:
            self.counts["unanswered"] += 1
        if not self.ended.done():
            self.ended.set_result(None)


async def visit(port: int, counts: Counter[str]) -> None:
    """Keep a connection open until the server accepts none any more."""
    while True:
        try:
            _, visitor = await asyncio.get_running_loop().create_connection(
                lambda: Visitor(counts), "127.0.0.1", port
            )
        except ConnectionRefusedError:
            return
        await visitor.ended


def run(port: int, connections: int, is_over: Event, out: Connection) -> None:
    counts = Counter[str]()

    async def main() -> None:
        visits = [asyncio.create_task(visit(port, counts)) for _ in range(connections)]
        out.send(None)
        await asyncio.to_thread(is_over.wait)
        for each in visits:  # those still waiting for a connection, which no process has accepted
            each.cancel()
        await asyncio.gather(*visits, return_exceptions=True)

    asyncio.run(main())
    out.send(counts)


@contextmanager
def visiting(port: int, connections: int, processes: int) -> Iterator[Counter[str]]:
    """Runs visitors inside the block. After it the counts of answered requests are filled in."""
    context = multiprocessing.get_context("spawn")
    is_over, counts = context.Event(), Counter[str]()
    pipes = []
    with ExitStack() as started:
        for _ in range(processes):
            mine, its = context.Pipe()
            process = context.Process(target=run, args=(port, connections // processes, is_over, its))
            process.start()
            started.callback(process.join, STOP_SECONDS)
            pipes.append(mine)
        try:
            for pipe in pipes:
                assert pipe.poll(START_SECONDS), "the visitors did not start"
                pipe.recv()
            yield counts
        finally:
            is_over.set()
            for pipe in pipes:
                if pipe.poll(STOP_SECONDS):
                    counts.update(pipe.recv())
