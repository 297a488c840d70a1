"""How does the worker have long work done, one piece after the other, without being slowed?

Each piece by a process of its own, for it computes all the time: in a thread of the worker it would slow the
counting. It ends with the worker; what a killed one leaves is gone on with, or begun anew.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.config import ROOT, Settings

POLL_SECONDS = 0.5
RETRY_SECONDS = 10.0

log = logging.getLogger(__name__)


class OneByOne(threading.Thread):
    """Looks for what waits, and has the oldest done by `flask <command> --run <its id>`."""

    command: str

    def __init__(self, engine: Engine, settings: Settings) -> None:
        super().__init__(name=f"{self.command}s", daemon=True)
        self.engine, self.data_dir = engine, settings.data_dir
        self.ended = threading.Event()
        self.process: subprocess.Popen[bytes] | None = None

    def oldest(self, session: Session) -> int | None:
        """The id of the next one, if any waits."""
        raise NotImplementedError

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                pause = POLL_SECONDS if self.turn() else RETRY_SECONDS
            except (SQLAlchemyError, OSError) as error:
                log.warning("Every %s waits: %s", self.command, str(error).splitlines()[0])
                pause = RETRY_SECONDS
            self.ended.wait(pause)

    def turn(self) -> bool:
        """Have one done, if any waits; False where that went wrong."""
        with Session(self.engine) as session:
            found = self.oldest(session)
        if found is None or self.ended.is_set():
            return True
        command = [sys.executable, "-m", "flask", "--app", "wsgi", self.command, "--run", str(found)]
        self.process = subprocess.Popen([*command, "--parent", str(os.getpid())], cwd=ROOT)
        if code := self.process.wait():
            log.warning("The %s %d ended (%d) and is tried again", self.command, found, code)
        return code == 0

    def stop(self, seconds: float) -> None:
        self.ended.set()
        if self.process and self.process.poll() is None:
            self.process.terminate()
        self.join(seconds)
