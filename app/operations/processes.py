"""Processes of one instance: how they start, watch each other, and end."""

# see docs/decisions/2026-11-20-processes.md
from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from app.core.file_locks import lock_by_descriptor
from app.core.folders import PROGRAM, ROOT

log = logging.getLogger(__name__)

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
MAX_INHERITED_FILES = 4096
# ends the worker that `serve` has started. SIGTERM and Ctrl+C often reach all processes at once, and the
# worker must outlive the web processes, or their last clicks would wait for the next start
LAST = signal.SIGUSR1
PATIENCE_SECONDS = 2  # for processes of an earlier run to be gone
WORKER_SECONDS = 8  # for the worker to finish what is under way
LONGEST_PAUSE = 30.0

FAREWELLS = frozenset({signal.SIGTERM, signal.SIGINT})


@contextmanager
def out_of_reach() -> Iterator[None]:
    """Blocks the signals that end a process in threads that are started here.

    Their handlers run in the main thread, which does not wake where the system has interrupted another one.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FAREWELLS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_with_parent(parent: int, farewell: signal.Signals = signal.SIGTERM) -> None:
    """Has the system send `farewell` to this process when its parent is gone, also by `kill -9`."""
    # the thread that started us may have blocked them
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FAREWELLS)
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


def notify(state: str) -> None:
    """Sends the service manager a state, such as `READY=1`, if it asks for that (sd_notify(3))."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):  # an abstract socket
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
            line.sendto(state.encode(), address)
    except OSError as error:
        log.warning("The service manager can't be told %s: %s", state, error)


def watch_parent(parent: int, farewell: signal.Signals) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), farewell)


@contextmanager
def hold_lock(path: Path, *, shared: bool = False) -> Iterator[int | None]:
    """Holds a lock file, waiting a moment for a process that is just ending.

    Yields the descriptor that holds it; None where another process does.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with lock_by_descriptor(path, shared=shared) as held:
            if held is not None or time.monotonic() > deadline:
                yield held
                return
        time.sleep(0.05)


def wait_until(condition: Callable[[], bool]) -> bool:
    """Waits a moment for a condition. Returns whether it came true."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class ForkedProcess:
    """A child that shares the memory of this program: half of what a new program would take.

    To be made while this process has one thread and no connection. The child keeps no file open except the
    standard ones, so no lock of its parent outlives that.
    """

    def __init__(self, name: str, run: Callable[[int], object]) -> None:
        parent = os.getpid()
        self.is_ended = False
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.closerange(3, MAX_INHERITED_FILES)
                os.chdir(ROOT)
                name_process(name)
                run(parent)
            except BaseException:
                log.exception("the %s failed", name)
            finally:
                os._exit(1)

    def wait(self) -> int:
        """Waits for its end. Returns its exit code, or the negative number of the signal that ended it."""
        status = os.waitpid(self.pid, 0)[1]
        self.is_ended = True
        return os.waitstatus_to_exitcode(status)

    def send_signal(self, number: int) -> None:
        if not self.is_ended:  # the number may be another process's by now
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def name_process(name: str) -> None:
    """Names this process in lists of processes, where its command line is its parent's."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NAME, name.encode())


class WorkerKeeper(threading.Thread):
    """Thread that keeps one worker process running: starts it again, with growing pauses, when it ends.

    The first is a fork, made before this process has any other thread. Those after it are new programs.
    """

    def __init__(self, first: ForkedProcess) -> None:
        super().__init__(name="worker keeper", daemon=True)
        self.ended = threading.Event()
        self.process: ForkedProcess | subprocess.Popen[bytes] = first

    def run(self) -> None:
        pause = 0.5
        while not self.ended.is_set():
            began = time.monotonic()
            code = self.process.wait()
            if self.ended.is_set():
                return
            pause = 0.5 if time.monotonic() - began > 60 else min(2 * pause, LONGEST_PAUSE)
            log.warning("The worker ended (%s) and is restarted in %g s.", code, pause)
            if not self.ended.wait(pause):
                self.process = subprocess.Popen(self.command(), cwd=ROOT)

    def command(self) -> list[str]:
        return [*PROGRAM, "worker", "--parent", str(os.getpid())]

    def stop(self) -> None:
        """Ends the worker, by force if it takes too long."""
        self.ended.set()
        self.send(LAST)
        if self.is_alive():
            log.warning("The worker did not end within %d s and is killed.", WORKER_SECONDS)
            self.send(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Sends the worker a signal, and waits a while for its end."""
        self.process.send_signal(number)
        self.join(WORKER_SECONDS)
