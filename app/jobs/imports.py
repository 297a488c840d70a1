"""Who takes tables of links in?"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.jobs.programs import OneByOne
from app.transfer.taking import waiting


class Importer(OneByOne):
    """What an import has come to is stored, and the next process goes on there."""

    command = "import"

    def oldest(self, session: Session) -> int | None:
        return next(iter(waiting(session, self.data_dir)), None)
