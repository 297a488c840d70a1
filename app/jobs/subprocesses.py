"""Long work of the worker, done by processes of their own: imports and archives.

They use processes because they compute all the time: in a thread of the worker they would slow the ingest. At
most `slots` run at once, and one of each owner, so that no owner keeps the others waiting. They end with the
worker. The work of a killed one is continued, or begun anew.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.folders import PROGRAM, ROOT
from app.core.machine import machine_id
from app.core.poll_loop import PollLoop, quiet_database
from app.import_export import archives, runs

SLOTS = 2  # processes of each kind at once
POLL_SECONDS = 0.5
RETRY_SECONDS = 10.0
SWEEP_SECONDS = 60.0  # between two removals of old archives


class PendingWork(NamedTuple):
    """A piece of work that waits for a process, and its owner."""

    id: int
    user_id: int


class Running(NamedTuple):
    user_id: int
    process: subprocess.Popen[bytes]


class ProgramRunner(PollLoop):
    """Thread that finds waiting work and runs `flask <command> --run <its id>` for it.

    An id whose process fails is backed off, and others have their turn meanwhile.
    """

    command: str
    slots = SLOTS

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.errors = ErrorBoundary(f"{self.command}s", first_seconds=RETRY_SECONDS, max_outages=inf)
        quiet = quiet_database(engine, RETRY_SECONDS)
        super().__init__(f"{self.command}s", POLL_SECONDS, self.errors, RETRY_SECONDS, quiet=quiet)
        self.engine, self.data_dir = engine, settings.data_dir
        self.running: dict[int, Running] = {}

    def waiting(self, session: Session) -> Sequence[PendingWork]:
        """The waiting work, the next one first. Work that runs already may be among it."""
        raise NotImplementedError

    def is_quiet(self) -> bool:
        """No turn is left out while a process runs: its end makes room for the next."""
        return not self.running and super().is_quiet()

    def turn(self) -> None:
        """Collects processes that have ended, and starts as many as there are free slots for."""
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

    def may_start(self, one: PendingWork) -> bool:
        is_busy = one.user_id in {running.user_id for running in self.running.values()}
        return not is_busy and not self.errors.is_backed_off(one.id)

    def start_process(self, id_: int) -> subprocess.Popen[bytes]:
        command = [*PROGRAM, self.command, "--run", str(id_)]
        return subprocess.Popen([*command, "--parent", str(os.getpid())], cwd=ROOT)

    def reap(self) -> None:
        """Removes processes that have ended. One that failed is logged and counted."""
        for id_, (_, process) in list(self.running.items()):
            code = process.poll()
            if code is None:
                continue
            del self.running[id_]
            if code == 0:
                self.errors.succeed(id_)
            else:
                self.errors.fail(id_, f"its process ended ({code})")

    def stop(self, seconds: float | None = None) -> None:
        self.end()
        for _, process in list(self.running.values()):
            if process.poll() is None:
                process.terminate()
        super().stop(seconds)


class Importer(ProgramRunner):
    """Runs `flask import` for each import that waits. Progress is stored, so a later process continues."""

    command = "import"

    def waiting(self, session: Session) -> Sequence[PendingWork]:
        return [PendingWork(one.id, one.user_id) for one in runs.unfinished_imports(session, self.data_dir)]


class Archiver(ProgramRunner):
    """Runs `flask archive` for each archive that waits. One whose process was killed starts over."""

    command = "archive"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.swept = 0.0

    def waiting(self, session: Session) -> Sequence[PendingWork]:
        if time.monotonic() - self.swept > SWEEP_SECONDS:
            self.swept = time.monotonic()
            with self.errors.attempt():
                archives.sweep(session, self.data_dir)
            session.rollback()
        return [PendingWork(*row) for row in archives.unfinished_archives(session, machine_id(self.data_dir))]
