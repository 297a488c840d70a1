"""Decides in which thread each request is answered.

Hot redirects are answered at once, in granian's own thread. Everything that may wait has a bounded pool:
visitors' look-ups and pages, owners' pages, uploads, and what operators ask, of which the health check and
readiness must answer even when all other pools hang. The body of a request is read on the event loop first.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from io import BytesIO
from time import perf_counter_ns
from typing import Any

from flask import Flask
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from app.accounts.keys import find_key
from app.api.auth import parse_bearer_token
from app.core.counters import count_redirect
from app.http_server.answers import NO_BODY, AsgiAnswer, SentFile, Streams, StreamStoppedError, count_request
from app.http_server.environ import Environ, build_environ, build_visit_environ, visit_keys
from app.http_server.granian_worker import AsgiProtocol, Message, Watcher
from app.http_server.pauses import Pauses
from app.http_server.pools import Pool, RequestJob
from app.http_server.refusals import BUSY, CUT, FULL, NO_HOST, SLOW, Refusals
from app.http_server.request_bodies import (
    BodyCutError,
    BodyTooLargeError,
    BodyTornError,
    FailedInput,
    Reading,
    RequestBodies,
    StreamedInput,
)
from app.rate_limit.limiter import network_of
from app.redirects.compiled_link import start_message
from app.redirects.wsgi import FastPath, Front
from app.web.body import IS_TORN, MAX_BYTES, MAX_SMALL_BYTES
from app.web.paths import first_segment, is_ours
from app.web.security_headers import is_api

UPLOADS = "/dashboard/imports"
# a pool's threads, how many requests may wait for one, and for how long. `forms` are visitors' forms and
# sign-ins: nearly all of their time they wait for a password's hash, and one thread computes at a time
POOLS: dict[str, dict[str, Any]] = {
    # of links in memory, where an answer waits for the disk: what waits for the database never holds them up
    "redirects": {"threads": 24, "queue": 4096, "wait_seconds": 20},
    "visitors": {"threads": 32, "queue": 4096, "wait_seconds": 20},
    "forms": {"threads": 40, "queue": 256, "wait_seconds": 10, "active": 1},
    "pages": {"threads": 24, "queue": 256, "wait_seconds": 10},
    "uploads": {"threads": 6, "queue": 32, "wait_seconds": 10},
    # monitors ask every few seconds, and an answer takes two at most
    "readiness": {"threads": 4, "queue": 16, "wait_seconds": 1},
    "metrics": {"threads": 1, "queue": 16, "wait_seconds": 10},
    "refusals": {"threads": 1, "queue": 64, "wait_seconds": 10, "pause_seconds": 0.005},
    "health": {"threads": 1, "queue": 64, "wait_seconds": 10},
    "streams": {"threads": 4, "queue": 128, "wait_seconds": 30},
}
# who is refused by one of these waits for the answer: what a flood fills is mostly them
PAUSING = frozenset({"forms", "pages", "uploads"})
OPERATORS_POOLS = {"/healthz": "health", "/readyz": "readiness", "/metrics": "metrics"}
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
SIGNED_IN = "_user_id"  # flask-login's key in a session

log = logging.getLogger(__name__)


class Senders:
    """Checks a request's key or session before a large body of it is read.

    Every client can send `Authorization: Bearer x`. Ten MiB are read and stored only for a valid key or
    session: others get their 401 without their body being read.
    """

    def __init__(self, app: Flask) -> None:
        self.app = app

    def is_known(self, environ: Environ) -> bool:
        """Whether the request has a valid key, or the signed session of a user.

        Waits for the database, and raises its errors. Of a session only the signature is checked here: the
        application still checks whether it has ended.
        """
        with self.app.request_context(dict(environ)) as context:
            if not is_api(environ["PATH_INFO"]):
                return context.session is not None and SIGNED_IN in context.session
            key = parse_bearer_token(environ.get("HTTP_AUTHORIZATION", ""))
            return key is not None and find_key(key) is not None


class Dispatcher:
    """Hands each request of one process to the thread or pool that answers it."""

    def __init__(self, app: Flask, front: Front, loop: asyncio.AbstractEventLoop) -> None:
        self.front, self.loop = front, loop
        self.is_hot = (
            front.redirect_context.settings.journal_sync != "group"
        )  # with "group" an answer waits for the disk
        self.fast_path = FastPath(front)
        self.visit_keys = visit_keys(front.redirect_context.country_key)
        self.refusals = Refusals(app, front)
        self.senders = Senders(app)
        self.pauses = Pauses(loop)
        self.bodies = RequestBodies(loop, front.redirect_context.settings.data_dir)
        needed = (name for name in POOLS if name != "redirects" or not self.is_hot)
        self.pools = {name: Pool(name, **POOLS[name]) for name in needed}
        if front.redirect_context.settings.is_sqlite:  # PostgreSQL is waited for in each answer
            self.pools["pages"].at_once = 1
        self.streams = Streams(loop, self.pools["streams"])
        for pool in self.pools.values():
            pool.start()

    def schedule(self, watcher: Watcher) -> None:
        """Answer a request or hand it on. Runs in granian's thread: it never waits and never raises."""
        started = perf_counter_ns()
        try:
            scope, proto = watcher.scope, watcher.proto
            start = (self.fast_path.answer(scope) or self.answer_from_memory(scope)) if self.is_hot else None
            if start is not None:
                proto.send(start)
                proto.send(NO_BODY)
                count_redirect(perf_counter_ns() - started)
            else:
                self.dispatch(build_environ(scope), proto)
        except Exception as error:
            log.exception("a request failed before it was dispatched")
            watcher.err(error)

    def answer_from_memory(self, scope: Message) -> Message | None:
        """The message that begins a redirect's answer, by the front, if its link is in memory."""
        found = self.front.answer_from_memory(build_visit_environ(scope, self.visit_keys))
        return start_message(*found) if found is not None else None

    def dispatch(self, environ: Environ, proto: AsgiProtocol) -> None:
        if not self.front.names_host(environ):
            # in another thread: a flood of these must neither delay redirects nor fill the memory
            environ["HTTP_HOST"] = environ["HTTP_X_FORWARDED_HOST"] = ""
            refuse = partial(self.refusals.send, proto, environ, NO_HOST)
            later = partial(self.pauses.answer_later, refuse)
            self.pools["refusals"].submit(RequestJob(environ["REMOTE_ADDR"], refuse, later))
        elif has_body(environ):
            self.loop.call_soon_threadsafe(self.begin_body, environ, proto)
        else:
            environ["wsgi.input"] = BytesIO()
            is_redirect = not self.is_hot and self.front.is_in_memory(environ)
            self.submit("redirects" if is_redirect else pool_of(environ), environ, proto)

    def submit(self, pool: str, environ: Environ, proto: AsgiProtocol) -> None:
        network = self.network_of(environ)
        pauses = self.pauses if pool == "forms" else None  # 503: too many passwords to check
        answer = partial(self.answer, environ, proto, network, pauses, perf_counter_ns())
        self.pools[pool].submit(RequestJob(network, answer, partial(self.refuse_busy, environ, proto, pool)))

    def answer(
        self, environ: Environ, proto: AsgiProtocol, network: str, pauses: Pauses | None, started: int
    ) -> None:
        """Answer a request, and count it with the time since it was submitted."""
        environ["wsgi.file_wrapper"] = SentFile
        body, path = environ["wsgi.input"], environ["PATH_INFO"]
        answer = AsgiAnswer(environ, proto, network, pauses)
        try:
            answer.call(self.front, self.streams)
        except StreamStoppedError as error:
            self.refusals.send(proto, environ, BUSY, str(error))
        else:
            count_request(path, answer.status, perf_counter_ns() - started)
        finally:
            body.close()

    def check_sender(self, environ: Environ, reading: Reading) -> None:
        """Have a large body read if its sender has a valid key or session. Runs in a thread of a pool."""
        try:
            if not self.senders.is_known(environ):
                reading.limit = 0
        except SQLAlchemyError as error:
            self.refusals.send(reading.proto, environ, BUSY, f"The sender can't be looked up: {error}")
            return
        self.loop.call_soon_threadsafe(self.bodies.run, self.take_body(environ, reading))

    def refuse_busy(self, environ: Environ, proto: AsgiProtocol, pool: str) -> None:
        environ["wsgi.input"].close()
        refuse = partial(self.refusals.send, proto, environ, BUSY, f"The pool for {pool} is full.")
        if pool in PAUSING:
            self.pauses.answer_later(refuse)
        else:
            refuse()

    def network_of(self, environ: Environ) -> str:
        return network_of(self.front.redirect_context.visitor(environ).address)

    def drain(self) -> None:
        """Prepare for the end of the process. Called from any thread."""
        self.front.is_draining = True
        self.loop.call_soon_threadsafe(self.bodies.drain)
        self.loop.call_soon_threadsafe(self.pauses.end)

    # --- on the event loop

    def begin_body(self, environ: Environ, proto: AsgiProtocol) -> None:
        reading = Reading(proto, self.network_of(environ), length_of(environ), limit_of(environ))
        if is_upload(environ):
            is_coming = "HTTP_EXPECT" not in environ
            environ["wsgi.input"] = StreamedInput(self.bodies, reading, is_coming=is_coming)
            self.submit("uploads", environ, proto)
        elif reading.limit > MAX_SMALL_BYTES and (reading.length is None or reading.length > MAX_SMALL_BYTES):
            check = partial(self.check_sender, environ, reading)
            refuse = partial(self.refusals.send, proto, environ, BUSY, "The pool for pages is full.")
            self.pools["pages"].submit(RequestJob(reading.network, check, refuse))
        else:
            self.bodies.run(self.take_body(environ, reading))

    async def take_body(self, environ: Environ, reading: Reading) -> None:
        """Read the body, then have the request answered, or refuse it if the body can't be read."""
        proto = reading.proto
        try:
            environ["wsgi.input"] = await self.bodies.read(reading)
        except BodyCutError as cut:
            if not cut.is_slow:
                await self.pauses.spend(self.bodies.sip(reading))
            self.refusals.send(proto, environ, SLOW if cut.is_slow else CUT)
            return
        except BodyTornError:
            environ["wsgi.input"], environ[IS_TORN] = FailedInput(ClientDisconnected), True
        except BodyTooLargeError:
            environ["wsgi.input"] = FailedInput(RequestEntityTooLarge)
            if self.bodies.are_many_refused():
                self.pauses.wait(partial(self.submit, pool_of(environ), environ, proto))
                return
        except OSError:
            log.exception("a body could not be stored")
            self.refusals.send(proto, environ, FULL)
            return
        self.submit(pool_of(environ), environ, proto)
        # a client that waits for `100 Continue` gets the answer instead, and sends no body
        if not reading.is_ended and (reading.received or "HTTP_EXPECT" not in environ):
            await self.bodies.discard(reading)


def pool_of(environ: Environ) -> str:
    path = environ["PATH_INFO"]
    if path in OPERATORS_POOLS:
        return OPERATORS_POOLS[path]
    is_visitor = not is_ours(path)
    if environ["REQUEST_METHOD"] in SAFE:
        return "visitors" if is_visitor else "pages"
    return "pages" if first_segment(path) in {"api", "dashboard"} else "forms"


def has_body(environ: Environ) -> bool:
    return environ.get("CONTENT_LENGTH", "0") != "0" or "HTTP_TRANSFER_ENCODING" in environ


def length_of(environ: Environ) -> int | None:
    """The announced length, or None for a body in chunks."""
    return None if "HTTP_TRANSFER_ENCODING" in environ else int(environ["CONTENT_LENGTH"])


def limit_of(environ: Environ) -> int:
    """How many bytes the body may have. Large bodies need at least a key or a cookie to be read at all."""
    path = environ["PATH_INFO"]
    if is_api(path):
        return MAX_BYTES if "HTTP_AUTHORIZATION" in environ else 0
    if first_segment(path) == "dashboard" and "HTTP_COOKIE" in environ:
        return MAX_BYTES
    return MAX_SMALL_BYTES


def is_upload(environ: Environ) -> bool:
    """Whether the body may be larger than memory, and is read while it arrives."""
    is_path = environ["REQUEST_METHOD"] == "POST" and environ["PATH_INFO"].rstrip("/") == UPLOADS
    is_form = environ.get("CONTENT_TYPE", "").startswith("multipart/form-data")
    return is_path and is_form and "HTTP_COOKIE" in environ
