"""Makes archives of everything that an owner has, and removes old ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.jobs.programs import ProgramRunner, Work
from app.transfer import archives

SWEEP_SECONDS = 60.0


class Archiver(ProgramRunner):
    """What a killed one leaves is begun anew."""

    command = "archive"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.swept = 0.0

    def waiting(self, session: Session) -> Sequence[Work]:
        if time.monotonic() - self.swept > SWEEP_SECONDS:
            self.swept = time.monotonic()
            with self.errors.attempt():
                archives.sweep(session, self.data_dir)
            session.rollback()
        return [Work(*row) for row in archives.waiting(session)]
