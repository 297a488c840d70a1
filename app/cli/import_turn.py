"""Turn of a process that goes on with an import: when it ends, and how much it may use."""

from __future__ import annotations

import resource
import signal
import time
from types import FrameType

from app.config import Settings
from app.transfer import runs

TURN_SECONDS = 5.0  # before it makes room for another owner's, where one waits
STEP_SECONDS = 300  # a step that takes longer hangs: the process is killed, which counts as a failed try
MAX_BYTES = 1024**3  # of memory: a row that needs more is a failed row


class Turn:
    """Begins with the process. SIGTERM ends it after the step under way, a second one at once."""

    def __init__(self, import_id: int, settings: Settings) -> None:
        self.import_id, self.settings = import_id, settings
        self.until = time.monotonic() + TURN_SECONDS
        self.is_stopped = False
        signal.signal(signal.SIGTERM, self.stop)
        signal.alarm(STEP_SECONDS)
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))

    def stop(self, _signal: int, _frame: FrameType | None) -> None:
        self.is_stopped = True
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def is_over(self) -> bool:
        """Asked after each step."""
        signal.alarm(STEP_SECONDS)
        if time.monotonic() < self.until or self.is_stopped:
            return self.is_stopped
        self.until = time.monotonic() + TURN_SECONDS
        return runs.must_share(self.import_id, self.settings)
