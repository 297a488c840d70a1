"""Streamed answers: each is closed in the context that made it."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.http_server.answers import PIECE_BYTES, WHOLE_BYTES, AsgiAnswer, Streams
from app.http_server.pauses import Pauses
from app.http_server.pools import Pool

POOL: Any = {"name": "test", "threads": 1, "queue": 10, "wait_seconds": 60}

name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="")


class Connection:
    """A client that reads everything and stays."""

    def __init__(self) -> None:
        self.size = 0

    def send(self, message: dict[str, Any]) -> asyncio.Future[None]:
        self.size += len(message.get("body", b""))
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def receive(self) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}


class Pieces:
    """An answer too large for one piece, which records the context that it is closed in."""

    def __init__(self) -> None:
        self.closed_as: list[str] = []

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(3):
            yield b"x" * WHOLE_BYTES

    def close(self) -> None:
        self.closed_as.append(name.get())


def test_a_streamed_answer_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    connection, pieces = Connection(), Pieces()

    def application(_environ: Any, start: Any) -> Pieces:
        name.set("the answer's")
        start("200 OK", [])
        return pieces

    async def run() -> None:
        pool = Pool(**POOL)
        pool.start()
        streams = Streams(asyncio.get_running_loop(), pool)
        AsgiAnswer({}, connection, "here").call(application, streams)
        await asyncio.sleep(0)  # lets the loop create the task
        async with asyncio.timeout(60):
            await asyncio.gather(*streams.tasks)

    # in a thread: this one may have a browser's loop running
    with ThreadPoolExecutor(1) as one:
        one.submit(asyncio.run, run()).result()
    assert (connection.size, pieces.closed_as, caplog.records) == (3 * WHOLE_BYTES, ["the answer's"], [])


class EndedAtLength(Connection):
    """A connection as granian's: once all announced bytes are sent, it says that the request is over."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length, self.largest = length, 0
        self.is_over = asyncio.Event()

    def send(self, message: dict[str, Any]) -> asyncio.Future[None]:
        done = super().send(message)
        self.largest = max(self.largest, len(message.get("body", b"")))
        if self.size >= self.length:
            self.is_over.set()
        return done

    async def receive(self) -> dict[str, Any]:
        await self.is_over.wait()
        return {"type": "http.disconnect"}


def test_an_answer_of_one_large_piece_keeps_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b"x" * (WHOLE_BYTES * 2 + 1)
    connection = EndedAtLength(len(body))
    ended: list[object] = []
    monkeypatch.setattr("app.http_server.answers.abort_connection", ended.append)

    def application(_environ: Any, start: Any) -> list[bytes]:
        start("200 OK", [("content-length", str(len(body)))])
        return [body]

    async def run() -> None:
        pool = Pool(**POOL)
        pool.start()
        streams = Streams(asyncio.get_running_loop(), pool)
        AsgiAnswer({}, connection, "here").call(application, streams)
        await asyncio.sleep(0)  # lets the loop create the task
        async with asyncio.timeout(60):
            await asyncio.gather(*streams.tasks)

    with ThreadPoolExecutor(1) as one:
        one.submit(asyncio.run, run()).result()
    assert (connection.size, ended) == (len(body), [])
    assert connection.largest == PIECE_BYTES  # a client has half a minute for a piece, not for all


@pytest.mark.parametrize(
    ("status", "is_given"),
    [("503 Service Unavailable", False), ("200 OK", True), ("429 Too Many Requests", True)],
    ids=["busy", "an answer", "too many requests"],
)
def test_only_a_busy_answer_waits(status: str, *, is_given: bool) -> None:
    connection = Connection()

    def application(_environ: Any, start: Any) -> list[bytes]:
        start(status, [])
        return [b"whole"]

    async def run() -> None:
        loop = asyncio.get_running_loop()
        pauses = Pauses(loop)
        AsgiAnswer({}, connection, "here", pauses).call(application, Streams(loop, Pool(**POOL)))
        await asyncio.sleep(0)  # lets the loop take it up
        assert connection.size == (5 if is_given else 0)
        pauses.end()
        assert connection.size == 5

    with ThreadPoolExecutor(1) as one:
        one.submit(asyncio.run, run()).result()
