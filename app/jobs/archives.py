"""Who makes files of everything? A process beside the worker, one after the other, and who sweeps them?

A process of its own, as an import is, and for the same reason. What a killed one leaves is begun anew.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.config import ROOT, Settings
from app.transfer import archives

POLL_SECONDS = 0.5
RETRY_SECONDS = 10.0
SWEEP_SECONDS = 60.0

log = logging.getLogger(__name__)


class Archiver(threading.Thread):
    """Looks for what was asked for, and has the oldest made."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        super().__init__(name="downloads", daemon=True)
        self.engine, self.data_dir = engine, settings.data_dir
        self.ended = threading.Event()
        self.process: subprocess.Popen[bytes] | None = None
        self.swept = 0.0

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                pause = POLL_SECONDS if self.turn() else RETRY_SECONDS
            except (SQLAlchemyError, OSError) as error:
                log.warning("Downloads wait: %s", str(error).splitlines()[0])
                pause = RETRY_SECONDS
            self.ended.wait(pause)

    def turn(self) -> bool:
        """Have one made, if any waits; False where that went wrong."""
        with Session(self.engine) as session:
            if time.monotonic() - self.swept > SWEEP_SECONDS:
                archives.sweep(session, self.data_dir)
                self.swept = time.monotonic()
            found = archives.waiting(session)
        if found is None or self.ended.is_set():
            return True
        command = [sys.executable, "-m", "flask", "--app", "wsgi", "archive", "--run", str(found)]
        self.process = subprocess.Popen([*command, "--parent", str(os.getpid())], cwd=ROOT)
        if code := self.process.wait():
            log.warning("The download %d ended (%d) and is tried again", found, code)
        return code == 0

    def stop(self, seconds: float) -> None:
        self.ended.set()
        if self.process and self.process.poll() is None:
            self.process.terminate()
        self.join(seconds)
