"""Who takes tables of links in? A process beside the worker, one after the other.

A process of its own, for it computes all the time: in a thread of the worker it would slow the counting. It
ends with the worker; what it has come to is stored, and the next one goes on there.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.config import ROOT
from app.transfer.taking import waiting

POLL_SECONDS = 0.5
RETRY_SECONDS = 10.0

log = logging.getLogger(__name__)


class Importer(threading.Thread):
    """Looks for imports that wait, and has the oldest taken in."""

    def __init__(self, engine: Engine, data_dir: Path) -> None:
        super().__init__(name="imports", daemon=True)
        self.engine, self.data_dir = engine, data_dir
        self.ended = threading.Event()
        self.process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                pause = POLL_SECONDS if self.turn() else RETRY_SECONDS
            except (SQLAlchemyError, OSError) as error:
                log.warning("Imports wait: %s", str(error).splitlines()[0])
                pause = RETRY_SECONDS
            self.ended.wait(pause)

    def turn(self) -> bool:
        """Have one taken in, if any waits; False where that went wrong."""
        with Session(self.engine) as session:
            found = waiting(session, self.data_dir)
        if not found or self.ended.is_set():
            return True
        command = [sys.executable, "-m", "flask", "--app", "wsgi", "import", "--run", str(found[0])]
        self.process = subprocess.Popen([*command, "--parent", str(os.getpid())], cwd=ROOT)
        if code := self.process.wait():
            log.warning("The import %d ended (%d) and is tried again", found[0], code)
        return code == 0

    def stop(self, seconds: float) -> None:
        self.ended.set()
        if self.process and self.process.poll() is None:
            self.process.terminate()
        self.join(seconds)
