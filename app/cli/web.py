"""What does a web process run, and how does it end without leaving a request unanswered?"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import granian._signals
from granian._granian import WorkerSignal
from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server.mp import MPServer

from app import create_app
from app.cli.draining import refuse_newcomers
from app.cli.lifetime import FAREWELLS, leave_with_parent, out_of_reach
from app.config import Settings
from app.visits import agents, devices
from app.visits.cache import Poller
from app.visits.desk import Desk
from app.visits.front import Front
from app.visits.stock import Stocker

THREADS = 64
TICK_SECONDS = 0.05
QUIET_TICKS = 10  # so many in a row without a request, and everybody has been told to close
DRAIN_SECONDS = 10
KILL_SECONDS = 20

fronts: list[Front] = []  # the one of this process: whoever ends it must find it


def server(settings: Settings, role: str | None) -> Callable[[], None]:
    """What to call to serve until a signal ends it. Each web process makes an application of its own."""
    made = MPServer(
        "app",  # a name for its messages only: `make_front` is what is called
        address=settings.host,
        port=settings.port,
        interface=Interfaces.WSGI,
        workers=settings.processes,
        blocking_threads=THREADS,
        respawn_failed_workers=True,
        workers_kill_timeout=KILL_SECONDS,
        websockets=False,
        log_level=LogLevels.error,
    )
    return partial(made.serve, run_process, partial(make_front, settings, role), wrap_loader=False)


def run_process(*arguments: Any) -> None:
    """A web process from beginning to end."""
    parent = multiprocessing.parent_process()
    leave_with_parent(parent.pid if parent and parent.pid else 1)
    granian._signals.set_sync_signals = end_at_farewell  # noqa: SLF001  its own would cut requests off
    with out_of_reach():  # every thread is: one that does nothing else waits for farewells
        MPServer._spawn_wsgi_worker(*arguments)  # noqa: SLF001
    for front in fronts:
        front.desk.close()
    sys.stdout.flush()


def make_front(settings: Settings, role: str | None) -> Front:
    app = create_app(settings)
    desk: Desk = app.extensions["visits"]
    desk.role = role
    front = Front(app.wsgi_app, desk)
    Poller(front.plans).start()
    if role != "owners":
        Stocker(front.plans).start()
    agents.warm()
    devices.warm()
    desk.places.refresh()
    fronts.append(front)
    gc.collect()
    gc.set_threshold(20_000, 20, 50)  # plans are made by the thousand, and none of them is ever a cycle
    gc.freeze()  # what is here stays: to look through all of it again holds up visitors for 80 ms
    return front


def end_at_farewell() -> WorkerSignal:
    """In place of the server's own: ask every client to close its connection first, and only then end."""
    ended = WorkerSignal()

    def wait() -> None:
        signal.sigwait(FAREWELLS)
        exit_after(KILL_SECONDS)  # also when there is no parent left to do it
        for front in fronts:
            refuse_newcomers(front.desk.settings.port)
            front.is_draining = True
        wait_for_quiet()
        ended.set()

    threading.Thread(target=wait, name="farewell", daemon=True).start()
    return ended


def wait_for_quiet() -> None:
    """Until nobody has asked for anything for a while. Counted in ticks, for where the whole machine stood
    still meanwhile, a clock alone would leave no time for those whose requests lie waiting."""
    deadline = time.monotonic() + DRAIN_SECONDS
    quiet, before = 0, 0
    while quiet < QUIET_TICKS and time.monotonic() < deadline:
        time.sleep(TICK_SECONDS)
        told = sum(front.told for front in fronts)
        quiet = quiet + 1 if told == before else 0
        before = told


def exit_after(seconds: float) -> None:
    timer = threading.Timer(seconds, partial(os._exit, 1))
    timer.daemon = True
    timer.start()
