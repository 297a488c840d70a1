"""Sends the answers of a WSGI application over granian's ASGI protocol.

A whole answer and a file are handed over at once, and no thread waits for the client to read them. A streamed
answer is pulled piece by piece as the client reads it, by threads of its own, and is cut off when it stalls.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from app.core.counters import counters
from app.http_server.granian_worker import AsgiProtocol
from app.http_server.pauses import Pauses
from app.http_server.pools import Pool, RequestJob
from app.operations.listening import each_connection
from app.redirects.compiled_link import start_message
from app.web.paths import OWNERS, first_segment, is_reserved

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

PIECE_BYTES = 64 * 1024
# an answer up to this size is sent in one piece
WHOLE_BYTES = 512 * 1024
MAX_STREAMS = 64
# for a client to read the next piece
STALLED_SECONDS = 30.0

BODY = "http.response.body"
NO_BODY = {"type": BODY, "body": b""}
Headers = list[tuple[str, str]]
Found = TypeVar("Found")
log = logging.getLogger(__name__)


class SentFile:
    """A file that the server sends by itself (`wsgi.file_wrapper`). Iterating over it reads it instead."""

    def __init__(self, file: BinaryIO, size: int = PIECE_BYTES) -> None:
        self.file, self.size = file, size

    def __iter__(self) -> Iterator[bytes]:
        return iter(lambda: self.file.read(self.size), b"")

    @property
    def path(self) -> str | None:
        """The file's path, or None if it is not a file on disk."""
        name = getattr(self.file, "name", None)
        return name if isinstance(name, str) else None

    def close(self) -> None:
        self.file.close()


def send_start(proto: AsgiProtocol, status: str, headers: Headers) -> None:
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    proto.send(start_message(int(status[:3]), pairs))


def send_whole(proto: AsgiProtocol, status: str, headers: Headers, body: bytes) -> None:
    send_start(proto, status, headers)
    proto.send({"type": BODY, "body": body})


class AsgiAnswer:
    """One request's answer, from calling the application to its last byte."""

    def __init__(
        self, environ: WSGIEnvironment, proto: AsgiProtocol, network: str, pauses: Pauses | None = None
    ) -> None:
        self.environ, self.proto, self.network = environ, proto, network
        self.pauses = pauses  # where the answer waits if it is 503
        self.status = ""
        self.headers: Headers = []
        self.result: Iterable[bytes] = ()
        self.is_sent = False
        # a generator keeps its context variables across pauses, although other threads may go on with it
        self.context = Context()

    def start(self, status: str, headers: Headers, _exc_info: Any = None) -> Callable[[bytes], object]:
        self.status, self.headers = status, headers
        return refuse_write

    def call(self, application: WSGIApplication, streams: Streams) -> None:
        """Run the application and send its answer, or begin to stream it. Raises StreamStoppedError if too
        many answers are being streamed, and nothing else."""
        try:
            self.result = self.context.run(application, self.environ, self.start)
            if isinstance(self.result, SentFile) and self.result.path:
                self.send_file(self.result.path)
                return
            pieces = iter(self.result)
            body, is_all = self.context.run(take_pieces, pieces, WHOLE_BYTES)
            if is_all:
                self.send_whole(body)
            else:
                streams.begin(self, pieces, body)
        except StreamStoppedError:
            self.close()
            raise
        except Exception:
            log.exception("an answer failed")
            self.close()
            self.fail()

    def send_whole(self, body: bytes) -> None:
        self.close()
        self.is_sent = True
        send = partial(send_whole, self.proto, self.status, self.headers, body)
        if self.pauses is not None and self.status.startswith("503"):
            self.pauses.answer_later(send)
        else:
            send()

    def send_file(self, path: str) -> None:
        self.is_sent = True
        send_start(self.proto, self.status, self.headers)
        self.proto.send({"type": "http.response.pathsend", "path": path})
        self.close()

    def fail(self) -> None:
        """Answer 500 if nothing was sent yet. Else end the connection: no part may pass for the whole."""
        if self.is_sent:
            abort_connection(self.environ)
        else:
            self.is_sent = True
            self.status = "500"
            send_whole(self.proto, self.status, [("Cache-Control", "no-store")], b"")

    def close(self) -> None:
        self.context.run(self.close_inside)

    def close_inside(self) -> None:
        """Close, for callers already inside the answer's context: it can't be entered twice."""
        close = getattr(self.result, "close", None)
        self.result = ()
        if close:
            close()


def abort_connection(environ: WSGIEnvironment) -> None:
    """End the connection of a request: the client must not take a part of the answer for the whole.

    Granian ends no connection by itself: the body of a streamed answer is a channel of bytes without errors.
    """
    peer = environ["REMOTE_ADDR"], int(environ["REMOTE_PORT"])
    for connection in each_connection():
        with suppress(OSError):  # closed meanwhile
            if connection.getpeername()[:2] == peer:
                connection.shutdown(socket.SHUT_RDWR)


def refuse_write(_data: bytes) -> object:
    raise NotImplementedError("this server has no write(): return the body")


def take_pieces(pieces: Iterator[bytes], most: int) -> tuple[bytes, bool]:
    """The next bytes, at least `most` if there are as many, and whether that was all."""
    taken, size = [], 0
    for piece in pieces:
        taken.append(piece)
        size += len(piece)
        if size >= most:
            return b"".join(taken), False
    return b"".join(taken), True


def announced_length(headers: Headers) -> float:
    """The length that the headers announce, in bytes; infinite if they announce none."""
    lengths = [int(value) for name, value in headers if name.lower() == "content-length"]
    return lengths[0] if lengths else inf


def cut(piece: bytes) -> Iterator[bytes]:
    """Parts of at most `PIECE_BYTES`: a slow reader has time for each of them."""
    return (piece[start : start + PIECE_BYTES] for start in range(0, len(piece), PIECE_BYTES))


class Streams:
    """The answers that a process is streaming."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, pool: Pool, stalled_seconds: float = STALLED_SECONDS
    ) -> None:
        self.loop, self.pool, self.stalled_seconds = loop, pool, stalled_seconds
        self.tasks: set[asyncio.Task[None]] = set()

    def begin(self, answer: AsgiAnswer, pieces: Iterator[bytes], first: bytes) -> None:
        """Stream on after the first piece of an answer. Called from any thread."""
        if len(self.tasks) >= MAX_STREAMS:
            raise StreamStoppedError("too many answers are being streamed")
        self.loop.call_soon_threadsafe(self.add_task, answer, pieces, first)

    def add_task(self, answer: AsgiAnswer, pieces: Iterator[bytes], first: bytes) -> None:
        task = self.loop.create_task(self.run(answer, pieces, first))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def run(self, answer: AsgiAnswer, pieces: Iterator[bytes], first: bytes) -> None:
        """Stream one answer to its end. If anything stops it earlier, the connection is ended."""
        reader = self.loop.create_task(wait_for_disconnect(answer.proto))
        try:
            await self.send(answer, pieces, first, reader)
        except Exception as error:
            if not isinstance(error, StreamStoppedError):
                log.exception("a streamed answer failed")
            answer.fail()
        finally:
            reader.cancel()
            await self.in_thread(answer, answer.close_inside)

    async def send(
        self, answer: AsgiAnswer, pieces: Iterator[bytes], piece: bytes, reader: asyncio.Task[None]
    ) -> None:
        answer.is_sent = True
        send_start(answer.proto, answer.status, answer.headers)
        missing, is_all = announced_length(answer.headers), False
        while True:
            for part in cut(piece):
                await self.send_part(answer.proto, part)
                missing -= len(part)
                # where all that was announced is sent, granian says that the reader has gone, too
                if missing > 0 and reader.done():
                    raise StreamStoppedError("its reader has gone")
            if is_all:
                break
            piece, is_all = await self.in_thread(answer, take_pieces, pieces, PIECE_BYTES)
        await answer.proto.send({"type": BODY, "body": b""})

    async def send_part(self, proto: AsgiProtocol, part: bytes) -> None:
        try:
            async with asyncio.timeout(self.stalled_seconds):
                await proto.send({"type": BODY, "body": part, "more_body": True})
        except TimeoutError:
            raise StreamStoppedError("its reader takes nothing") from None

    async def in_thread(self, answer: AsgiAnswer, call: Callable[..., Found], *arguments: object) -> Found:
        """Run `call` in a thread of the pool, in the answer's context, and return its result."""
        done: Future[Found] = Future()

        def run() -> None:
            try:
                done.set_result(answer.context.run(call, *arguments))
            except BaseException as error:  # noqa: BLE001  raised where it is awaited
                done.set_exception(error)

        def refuse() -> None:
            done.set_exception(StreamStoppedError("no thread was free for it"))

        self.pool.submit(RequestJob(answer.network, run, refuse))
        return await asyncio.wrap_future(done)


class StreamStoppedError(Exception):
    """A streamed answer can't go on, without an error of the application."""


async def wait_for_disconnect(proto: AsgiProtocol) -> None:
    while (await proto.receive())["type"] != "http.disconnect":
        pass


STATUS_CLASSES = {"2": "2xx", "3": "3xx", "4": "4xx"}


def class_of(path: str) -> str:
    """`redirect` for each path that a link may have, also where the answer is a page or there is no link."""
    first = first_segment(path)
    if first in OWNERS:
        return "api" if first == "api" else "dashboard"
    return "other" if not first or is_reserved(first) else "redirect"


def count_request(path: str, status: str, nanoseconds: int | None = None) -> None:
    """Count an answer. `nanoseconds` is None for one that was refused before anything was done for it."""
    kind = class_of(path)
    counters.add(f"requests {kind} {STATUS_CLASSES.get(status[:1], '5xx')}")
    if nanoseconds is not None:
        counters.count_duration(kind, nanoseconds)
