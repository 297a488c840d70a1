"""Processes of one instance: how they start, watch each other, and end."""

# see docs/decisions/2026-11-20-processes.md
from __future__ import annotations

import ctypes
import errno
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

from app.core.config import PREFIX, ROOT
from app.core.file_locks import lock_file
from app.core.setting_values import bracketed

log = logging.getLogger(__name__)

PR_SET_PDEATHSIG = 1
# ends the worker that `serve` has started. SIGTERM and Ctrl+C often reach all processes at once, and the
# worker must outlive the web processes, or their last clicks would wait for the next start
LAST = signal.SIGUSR1
PATIENCE_SECONDS = 2  # for processes of an earlier run to be gone
WORKER_SECONDS = 8  # for the worker to finish what is under way
LONGEST_PAUSE = 30.0


OTHER_PORT = f"Choose another port: `make run PORT=8001`, `serve --port 8001` or {PREFIX}PORT=8001."
OTHER_HOST = f"Choose another address: {PREFIX}HOST, or `serve --host`."
LISTEN_REFUSALS = {
    errno.EADDRINUSE: ("is in use by another program", OTHER_PORT),
    errno.EACCES: ("needs a right that this user lacks", OTHER_PORT),
    errno.EADDRNOTAVAIL: ("is on no network of this machine", OTHER_HOST),
}


class BindProblem(NamedTuple):
    """Why no server can listen on an address, and what to do about it."""

    reason: str
    advice: str

    def __str__(self) -> str:
        return f"{self.reason}. {self.advice}"


FAREWELLS = frozenset({signal.SIGTERM, signal.SIGINT})


@contextmanager
def out_of_reach() -> Iterator[None]:
    """Blocks SIGTERM and SIGINT in threads that are started here.

    Their handlers run in the main thread, which does not wake where the system has interrupted another one.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FAREWELLS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_with_parent(parent: int, farewell: signal.Signals = signal.SIGTERM) -> None:
    """Has the system send `farewell` to this process when its parent is gone, also by `kill -9`."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FAREWELLS)  # the thread that started us may have blocked them
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, farewell)
    else:
        threading.Thread(target=watch_parent, args=(parent, farewell), daemon=True).start()
    if os.getppid() != parent:  # it was gone before the request was in force
        sys.exit(1)


def end_process() -> NoReturn:
    """Ends this process, with all output written.

    The interpreter's own end frees every module, which takes a second on a busy machine, and waits for
    threads of pools: one that waits for a silent server takes half a minute.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def watch_parent(parent: int, farewell: signal.Signals) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), farewell)


@contextmanager
def hold_lock(path: Path, *, shared: bool = False) -> Iterator[bool]:
    """Holds a lock file, waiting a moment for a process that is just ending. Yields whether it is ours."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with lock_file(path, shared=shared) as is_ours:
            if is_ours or time.monotonic() > deadline:
                yield is_ours
                return
        time.sleep(0.05)


def refusal_to_listen(host: str, port: int) -> BindProblem | None:
    """Why no server can listen there, and what to do; None where it is possible.

    It is tried here because the server would share the port of another listener without an error.
    """
    family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, proto) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # ended connections do not matter
        try:
            probe.bind(address)
        except OSError as error:
            reason, advice = LISTEN_REFUSALS.get(error.errno or 0, (f"does not work: {error}", OTHER_HOST))
            return BindProblem(f"http://{bracketed(host)}:{port} {reason}", advice)
    return None


def wait_until(condition: Callable[[], bool]) -> bool:
    """Waits a moment for a condition. Returns whether it came true."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class WorkerKeeper(threading.Thread):
    """Thread that keeps one worker process running: starts it again, with growing pauses, when it ends.

    The worker is a new program, not a fork: it shares no connection and no thread with this process.
    """

    def __init__(self) -> None:
        super().__init__(name="worker keeper", daemon=True)
        self.ended = threading.Event()
        self.process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        pause = 0.5
        while not self.ended.is_set():
            began = time.monotonic()
            self.process = subprocess.Popen(self.command(), cwd=ROOT)
            code = self.process.wait()
            if self.ended.is_set():
                return
            pause = 0.5 if time.monotonic() - began > 60 else min(2 * pause, LONGEST_PAUSE)
            log.warning("The worker ended (%s) and is restarted in %g s.", code, pause)
            self.ended.wait(pause)

    def command(self) -> list[str]:
        return [sys.executable, "-m", "flask", "--app", "wsgi", "worker", "--parent", str(os.getpid())]

    def stop(self) -> None:
        """Ends the worker, by force if it takes too long."""
        self.ended.set()
        self.send(LAST)
        if self.is_alive():
            log.warning("The worker did not end within %d s and is killed.", WORKER_SECONDS)
            self.send(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Sends the worker a signal, and waits a while for its end."""
        if self.process:
            self.process.send_signal(number)
        self.join(WORKER_SECONDS)
