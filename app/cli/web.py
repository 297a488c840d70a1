"""Web processes: what each one runs, and how it ends without leaving a request unanswered."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import signal
import socket
import sys
import threading
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Flask
from granian._granian import SocketHolder, WorkerSignal
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer
from sqlalchemy.orm import configure_mappers

from app.accounts.hashing import GATE, turn_of_process
from app.core.config import Settings
from app.core.counters import counters
from app.core.extensions import db
from app.core.patience import PAGES
from app.core.postgresql import limit_waiting
from app.core.scheduling import SHORT_MS, set_slice
from app.core.tracing import tracing
from app.http_server.dispatcher import Dispatcher
from app.http_server.granian_worker import Schedule, run_worker
from app.http_server.pools import waiting_elsewhere
from app.http_server.refusals import render_pages
from app.operations.listening import BACKLOG, Listening, admit_accepted, refuse_newcomers
from app.operations.processes import FAREWELLS, leave_with_parent, out_of_reach
from app.redirects import bots, user_agent
from app.redirects.cache import Poller, RowCacheWarmer
from app.redirects.context import RedirectContext
from app.redirects.wsgi import Front
from app.web.application import REDIRECTS

# both measured beside busy pages: docs/decisions/2026-11-25-processor-time-of-requests.md,
# docs/decisions/2026-11-22-bodies-read-before-threads.md
REDIRECT_THREADS = 2
SWITCH_SECONDS = 0.001
FILE_THREADS = 8
# connections of one process, 7 KB each while idle; those beyond wait in the system's queue
MAX_CONNECTIONS = 8192
SPARE_DESCRIPTORS = 256
# for the head of the next request, and so for an idle connection too
HEAD_MS = 15_000
# the longest head
MAX_HEAD_BYTES = 64 * 1024

TICK_SECONDS = 0.05
QUIET_TICKS = 10  # so many in a row without a request, and every client has been told to close
DRAIN_SECONDS = 10
KILL_SECONDS = 20


class Process:
    """What this web process runs, kept for the thread that ends it."""

    app: Flask
    front: Front
    dispatcher: Dispatcher | None = None
    listener: socket.socket

    def __init__(self, listening: Listening, ready: int) -> None:
        self.listening = listening
        self.ready = ready  # where the main process waits for each web process


class WebServer(MPServer):
    """Granian's main process, with sockets that are there before it."""

    # granian would start web processes anew; without a handler, a terminal that closes ends this program
    signal_handler_reload = None  # type: ignore[assignment]

    def _init_shared_socket(self) -> None:
        """Makes none: see `run_process`."""
        self._ssp = self._shd = self._sso = None


def make_server(settings: Settings) -> WebServer:
    return WebServer(
        "app",  # a name for its messages only: `make_front` is what is called
        # `run_process` serves ASGI all the same, for which granian allows one thread only
        interface=Interfaces.WSGI,
        workers=settings.processes,
        blocking_threads=REDIRECT_THREADS,
        runtime_blocking_threads=FILE_THREADS,
        loop=Loops.asyncio,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=HEAD_MS, max_buffer_size=MAX_HEAD_BYTES),
        backlog=BACKLOG,
        backpressure=max_connections(),
        respawn_failed_workers=True,
        workers_kill_timeout=KILL_SECONDS,
        websockets=False,
        log_level=LogLevels.error,
    )


def serve_until_end(settings: Settings, listening: Listening, app: Flask, ready: int) -> None:
    """Serves until a signal ends it. Each web process writes a byte to `ready`.

    The web processes are forks, and share the application as it is made: nothing of it may be open yet.
    """
    multiprocessing.set_start_method("fork", force=True)  # the default until Python 3.14
    process = Process(listening, ready)
    make_server(settings).serve(
        partial(run_process, process),
        partial(make_front, process, app),
        wrap_loader=False,
    )


def max_connections() -> int:
    """As many connections as descriptors allow, whose limit is raised to the hard one first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    unlimited = hard == resource.RLIM_INFINITY
    return MAX_CONNECTIONS if unlimited else max(128, min(MAX_CONNECTIONS, hard - SPARE_DESCRIPTORS))


def run_process(process: Process, number: int, *arguments: Any) -> None:
    """Runs a web process from beginning to end. Its arguments are granian's, but for the socket."""
    parent = multiprocessing.parent_process()
    leave_with_parent(parent.pid if parent and parent.pid else 1)
    process.listener = process.listening.of_process(number)
    # a copy, which granian closes; the type stubs lack what is used here
    holder = SocketHolder(os.dup(process.listener.fileno()), False, BACKLOG)  # type: ignore[call-arg]
    name, loader, _, *more = arguments
    arguments = (number, name, loader, ((None, holder), None), *more)
    sys.setswitchinterval(SWITCH_SECONDS)
    set_slice(SHORT_MS)  # granian's threads answer redirects; the pools' threads set their own
    with out_of_reach():  # no thread handles these signals: the one named "farewell" waits for them
        run_worker(arguments, partial(make_schedule, process), partial(end_at_farewell, process))
    tracing.stop()
    process.front.redirect_context.close()
    with process.app.app_context():
        db.engine.dispose()  # SQLite closes its files itself, so the last process to end removes their logs
    sys.stdout.flush()


def warm(app: Flask, role: str | None) -> None:
    """Makes what every web process would make for itself, so that forks share it. Opens nothing."""
    bots.warm()
    user_agent.warm()
    configure_mappers()
    redirect_context = context_of(app)
    redirect_context.role = role
    redirect_context.compiled_links  # noqa: B018  compiles its statements
    with app.app_context():
        render_pages()


def context_of(app: Flask) -> RedirectContext:
    found: RedirectContext = app.extensions[REDIRECTS]
    return found


def make_front(process: Process, app: Flask) -> Front:
    process.app = app
    redirect_context = context_of(app)
    counters.open(redirect_context.settings.data_dir, "web")
    tracing.start("web")
    with process.app.app_context():
        if db.engine.dialect.name == "postgresql":
            limit_waiting(db.engine, PAGES)
    process.front = front = Front(process.app.wsgi_app, redirect_context)
    Poller(front.compiled_links).start()
    if redirect_context.role != "owners":
        RowCacheWarmer(front.compiled_links).start()
    redirect_context.geolocation.refresh()
    return front


def make_schedule(process: Process, loop: AbstractEventLoop) -> Schedule:
    """Makes the function that granian calls for each request.

    It is made last: what exists by then stays for good, and is kept out of garbage collection.
    """
    process.dispatcher = Dispatcher(process.app, process.front, loop)
    GATE.waiting = waiting_elsewhere
    GATE.turn = partial(turn_of_process, process.front.redirect_context.settings.data_dir)
    gc.collect()
    gc.set_threshold(20_000, 20, 50)  # compiled links are made by the thousand, and none is ever a cycle
    gc.freeze()  # what is here stays: to scan all of it again holds up visitors for 80 ms
    os.write(process.ready, b".")
    return process.dispatcher.schedule


def end_at_farewell(process: Process) -> WorkerSignal:
    """Replaces granian's own end: every client is asked to close its connection before the process ends."""
    ended = WorkerSignal()

    def wait() -> None:
        signal.sigwait(FAREWELLS)
        exit_after(KILL_SECONDS)  # also when there is no parent left to do it
        try:
            drain(process)
        finally:
            ended.set()  # also after an error, or the process would serve on until it is killed

    threading.Thread(target=wait, name="farewell", daemon=True).start()
    return ended


def drain(process: Process) -> None:
    """Takes no new connection, and has all open ones closed after their next response."""
    _, port = process.listening.address
    is_inherited = refuse_newcomers(process.listener)
    if process.dispatcher:
        process.dispatcher.drain()
    wait_for_quiet(process.front, partial(admit_accepted, port) if is_inherited else None)


def wait_for_quiet(front: Front, admit: Callable[[], int] | None) -> None:
    """Waits until no request has come for a while.

    Counted in ticks: where the whole machine stood still meanwhile, a clock alone would leave no time for
    requests that are waiting. A client whose packets were ignored until its connection was admitted repeats
    its request after pauses that double, so after at most as long again as it has waited by then.
    """
    deadline = time.monotonic() + DRAIN_SECONDS
    quiet, needed, ticks, before = 0, QUIET_TICKS, 0, 0
    while quiet < needed and time.monotonic() < deadline:
        time.sleep(TICK_SECONDS)
        ticks += 1
        admitted = admit() if admit else 0
        if admitted:
            needed = ticks + QUIET_TICKS
        is_quiet = front.closings == before and not admitted
        quiet, before = (quiet + 1 if is_quiet else 0), front.closings


def exit_after(seconds: float) -> None:
    timer = threading.Timer(seconds, partial(os._exit, 1))
    timer.daemon = True
    timer.start()
