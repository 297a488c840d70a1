"""Runs imports of tables of links."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.jobs.programs import ProgramRunner, Work
from app.transfer import runs


class Importer(ProgramRunner):
    """What an import has come to is stored, and the next process goes on there."""

    command = "import"

    def waiting(self, session: Session) -> Sequence[Work]:
        return [Work(one.id, one.user_id) for one in runs.waiting(session, self.data_dir)]
