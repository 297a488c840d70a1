"""Long work of the worker, done by processes of their own: imports and archives.

A process, for it computes all the time: in a thread of the worker it would slow the counting. At most `slots`
run at once, and one of each owner, so that no owner keeps the others waiting. They end with the worker; what
a killed one leaves is gone on with, or begun anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from app.config import ROOT, Settings
from app.error_boundary import ErrorBoundary

POLL_SECONDS = 0.5
RETRY_SECONDS = 10.0


class Work(NamedTuple):
    """Something that waits for a process, and whose it is."""

    id: int
    user_id: int


class Running(NamedTuple):
    user_id: int
    process: subprocess.Popen[bytes]


class ProgramRunner(threading.Thread):
    """Looks for what waits, and has it done by `flask <command> --run <its id>`.

    An id whose process fails is backed off; meanwhile others have their turn.
    """

    command: str
    slots = 2

    def __init__(self, engine: Engine, settings: Settings) -> None:
        super().__init__(name=f"{self.command}s", daemon=True)
        self.engine, self.data_dir = engine, settings.data_dir
        self.ended = threading.Event()
        self.running: dict[int, Running] = {}
        self.errors = ErrorBoundary(f"{self.command}s", first_seconds=RETRY_SECONDS, max_outages=inf)

    def waiting(self, session: Session) -> Sequence[Work]:
        """What waits, the next one first. What runs already may be among it."""
        raise NotImplementedError

    def run(self) -> None:
        while not self.ended.is_set():
            with self.errors.attempt() as made:
                self.turn()
            self.ended.wait(POLL_SECONDS if made.error is None else RETRY_SECONDS)

    def turn(self) -> None:
        """See what has ended, and start what there is room for."""
        self.reap()
        if len(self.running) >= self.slots:
            return
        with Session(self.engine) as session:
            found = self.waiting(session)
        for one in found:
            if len(self.running) >= self.slots or self.ended.is_set():
                return
            if self.may_start(one):
                self.running[one.id] = Running(one.user_id, self.start_process(one.id))

    def may_start(self, one: Work) -> bool:
        is_busy = one.user_id in {running.user_id for running in self.running.values()}
        return not is_busy and not self.errors.is_backed_off(one.id)

    def start_process(self, id_: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "flask", "--app", "wsgi", self.command, "--run", str(id_)]
        return subprocess.Popen([*command, "--parent", str(os.getpid())], cwd=ROOT)

    def reap(self) -> None:
        """Forget processes that have ended; one that failed is logged and counted."""
        for id_, (_, process) in list(self.running.items()):
            code = process.poll()
            if code is None:
                continue
            del self.running[id_]
            if code == 0:
                self.errors.succeed(id_)
            else:
                self.errors.fail(id_, f"its process ended ({code})")

    def stop(self, seconds: float) -> None:
        self.ended.set()
        for _, process in list(self.running.values()):
            if process.poll() is None:
                process.terminate()
        self.join(seconds)
