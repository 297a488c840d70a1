"""Decides in which thread each request is answered.

Hot redirects are answered at once, in granian's own thread. Everything that may wait has a bounded pool: a
visitor's look-ups and pages, owners' pages, uploads, readiness, and the health check, which answers whatever
hangs. A request with a body is read on the event loop first.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from io import BytesIO

from flask import Flask
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from app.bodies import IS_TORN, MAX_SMALL_BYTES, MOST_BYTES
from app.headers import is_api
from app.http_server.answers import Answer, SentFile, Streams, StreamStoppedError, send_whole
from app.http_server.body_inputs import FailedInput, StreamedInput
from app.http_server.environ import Environ, build_environ
from app.http_server.granian_worker import AsgiProtocol, Watcher
from app.http_server.pools import Job, Pool
from app.http_server.refusals import BUSY, CUT, FULL, NO_HOST, SLOW, Refusals
from app.http_server.request_bodies import (
    BodyCutError,
    BodyTooLargeError,
    BodyTornError,
    Reading,
    RequestBodies,
)
from app.throttles import network_of
from app.visits.front import Front
from app.visits.paths import first_segment, is_ours

UPLOADS = "/dashboard/imports"
# a pool's threads, how many requests may wait for one, and for how long. `forms` are those of visitors and of
# people who sign in: nearly all of their time they wait for a password's hash, and few compute at a time
POOLS: dict[str, dict[str, int]] = {
    "visitors": {"threads": 32, "queue": 4096, "wait_seconds": 20},
    "forms": {"threads": 40, "queue": 256, "wait_seconds": 10, "active": 1},
    "pages": {"threads": 24, "queue": 256, "wait_seconds": 10},
    "uploads": {"threads": 6, "queue": 32, "wait_seconds": 10},
    "readiness": {"threads": 2, "queue": 16, "wait_seconds": 10},
    "refusals": {"threads": 1, "queue": 1024, "wait_seconds": 10},
    "health": {"threads": 1, "queue": 64, "wait_seconds": 10},
    "streams": {"threads": 4, "queue": 128, "wait_seconds": 30},
}
READINESS = frozenset({"/readyz", "/metrics"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

log = logging.getLogger(__name__)


class Dispatcher:
    """The requests of one process."""

    def __init__(self, app: Flask, front: Front, loop: asyncio.AbstractEventLoop) -> None:
        self.front, self.loop = front, loop
        self.is_hot = front.desk.settings.journal_sync != "group"  # else an answer waits for the disk
        self.refusals = Refusals(app, front)
        self.bodies = RequestBodies(loop, front.desk.settings.data_dir)
        self.pools = {name: Pool(name, **bounds) for name, bounds in POOLS.items()}
        self.streams = Streams(loop, self.pools["streams"])
        for pool in self.pools.values():
            pool.start()
        loop.call_soon(self.bodies.sweep)

    def schedule(self, watcher: Watcher) -> None:
        """Answer a request or hand it on. Runs in granian's thread: it never waits and never raises."""
        try:
            environ = build_environ(watcher.scope)
            found = self.front.answer_from_memory(environ) if self.is_hot else None
            if found is not None:
                status, headers = found
                send_whole(watcher.proto, status, headers, b"")
            else:
                self.dispatch(environ, watcher.proto)
        except Exception as error:
            log.exception("a request failed before it was dispatched")
            watcher.err(error)

    def dispatch(self, environ: Environ, proto: AsgiProtocol) -> None:
        if not self.front.names_host(environ):
            # by another thread: a flood of these must not stand in front of redirects
            refuse = partial(self.refusals.send, proto, environ, NO_HOST)
            self.pools["refusals"].submit(Job(environ["REMOTE_ADDR"], refuse, refuse))
        elif has_body(environ):
            self.loop.call_soon_threadsafe(self.begin_body, environ, proto)
        else:
            environ["wsgi.input"] = BytesIO()
            self.submit(pool_of(environ), environ, proto)

    def submit(self, pool: str, environ: Environ, proto: AsgiProtocol) -> None:
        network = self.network_of(environ)
        answer = partial(self.answer, environ, proto, network)
        self.pools[pool].submit(Job(network, answer, partial(self.refuse_busy, environ, proto, pool)))

    def answer(self, environ: Environ, proto: AsgiProtocol, network: str) -> None:
        environ["wsgi.file_wrapper"] = SentFile
        body = environ["wsgi.input"]
        try:
            Answer(environ, proto, network).call(self.front, self.streams)
        except StreamStoppedError as error:
            self.refusals.send(proto, environ, BUSY, str(error))
        finally:
            body.close()

    def refuse_busy(self, environ: Environ, proto: AsgiProtocol, pool: str) -> None:
        environ["wsgi.input"].close()
        self.refusals.send(proto, environ, BUSY, f"The pool for {pool} is full.")

    def network_of(self, environ: Environ) -> str:
        return network_of(self.front.desk.visitor(environ).address)

    def drain(self) -> None:
        """The process ends soon. Called from any thread."""
        self.front.is_draining = True
        self.loop.call_soon_threadsafe(self.bodies.drain)

    # --- on the event loop

    def begin_body(self, environ: Environ, proto: AsgiProtocol) -> None:
        reading = Reading(proto, self.network_of(environ), length_of(environ), limit_of(environ))
        if is_upload(environ):
            environ["wsgi.input"] = StreamedInput(self.bodies, reading)
            self.submit("uploads", environ, proto)
        else:
            self.bodies.run(self.take_body(environ, reading))

    async def take_body(self, environ: Environ, reading: Reading) -> None:
        """Read the body, then have the request answered; or say why not."""
        proto = reading.proto
        try:
            environ["wsgi.input"] = await self.bodies.read(reading)
        except BodyCutError as cut:
            self.refusals.send(proto, environ, SLOW if cut.is_slow else CUT)
            return
        except BodyTornError:
            environ["wsgi.input"], environ[IS_TORN] = FailedInput(ClientDisconnected), True
        except BodyTooLargeError:
            environ["wsgi.input"] = FailedInput(RequestEntityTooLarge)
        except OSError:
            log.exception("a body could not be stored")
            self.refusals.send(proto, environ, FULL)
            return
        self.submit(pool_of(environ), environ, proto)
        # a client that waits for leave to send gets the answer instead
        if not reading.is_ended and (reading.received or "HTTP_EXPECT" not in environ):
            await self.bodies.discard(reading)


def pool_of(environ: Environ) -> str:
    path = environ["PATH_INFO"]
    if path == "/healthz":
        return "health"
    if path in READINESS:
        return "readiness"
    is_visitor = not is_ours(path)
    if environ["REQUEST_METHOD"] in SAFE:
        return "visitors" if is_visitor else "pages"
    return "pages" if first_segment(path) in {"api", "dashboard"} else "forms"


def has_body(environ: Environ) -> bool:
    return environ.get("CONTENT_LENGTH", "0") != "0" or "HTTP_TRANSFER_ENCODING" in environ


def length_of(environ: Environ) -> int | None:
    """As announced; None for a body in chunks."""
    return None if "HTTP_TRANSFER_ENCODING" in environ else int(environ["CONTENT_LENGTH"])


def limit_of(environ: Environ) -> int:
    """How many bytes the body may have. Of a sender who shows no key or session none are taken in vain."""
    path = environ["PATH_INFO"]
    if is_api(path):
        return MOST_BYTES if "HTTP_AUTHORIZATION" in environ else 0
    if first_segment(path) == "dashboard" and "HTTP_COOKIE" in environ:
        return MOST_BYTES
    return MAX_SMALL_BYTES


def is_upload(environ: Environ) -> bool:
    """Whether the body may be larger than memory, and is taken in while it comes."""
    is_path = environ["REQUEST_METHOD"] == "POST" and environ["PATH_INFO"].rstrip("/") == UPLOADS
    is_form = environ.get("CONTENT_TYPE", "").startswith("multipart/form-data")
    return is_path and is_form and "HTTP_COOKIE" in environ
