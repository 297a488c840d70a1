"""Shares the daily salts with other machines: a thread of the worker, so that nobody waits for it."""

from __future__ import annotations

from math import inf

from sqlalchemy import Engine

from app.core.clock import now
from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.poll_loop import PollLoop
from app.journal.shared_salt import salt_store, share_salts

POLL_SECONDS = 20.0


class SaltSharer(PollLoop):
    """Fetches today's and tomorrow's salt, and offers this machine's to others. Idle on SQLite."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        super().__init__("daily salts", POLL_SECONDS, ErrorBoundary("daily salts", max_outages=inf))
        self.data_dir = settings.data_dir
        self.store = salt_store(settings, engine)

    def start(self) -> None:
        if self.store is not None:
            super().start()

    def turn(self) -> bool:
        if self.store is not None:
            share_salts(self.data_dir, self.store, now())
        return False
