"""Who makes files of everything, and who sweeps them?"""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy.orm import Session

from app.jobs.programs import OneByOne
from app.transfer import archives

SWEEP_SECONDS = 60.0


class Archiver(OneByOne):
    """What a killed one leaves is begun anew."""

    command = "archive"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.swept = 0.0

    def oldest(self, session: Session) -> int | None:
        if time.monotonic() - self.swept > SWEEP_SECONDS:
            archives.sweep(session, self.data_dir)
            self.swept = time.monotonic()
        return archives.waiting(session)
