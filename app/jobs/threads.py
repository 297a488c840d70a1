"""Threads of the worker for deliveries and jobs, so that long ones do not hold up the ingest."""

from __future__ import annotations

import time

from sqlalchemy import create_engine

from app.core.config import Settings
from app.core.database import engine_options, prepare_engine
from app.jobs.confirmations import post_confirmations
from app.jobs.definitions import TABLE
from app.jobs.password_resets import answer_forgotten
from app.jobs.schedule import Scheduler
from app.jobs.subprocesses import Archiver, Importer
from app.links.notification_dispatch import tell
from app.links.schedule_events import tell_moments
from app.notifications.sender import Sender
from app.notifications.site import site_of
from app.rate_limit.limiter import RateLimiter

LAST_SECONDS = 1.5  # for work that is under way when the worker is asked to end


class WorkerThreads:
    """All threads of the worker. They start when it becomes active, and stop when it ends."""

    def __init__(self, settings: Settings) -> None:
        self.engine = create_engine(settings.database_url, **engine_options(settings))
        prepare_engine(self.engine, settings)
        site = site_of(settings)
        self.rate_limiter = RateLimiter(settings)
        feeds = {
            "starts and ends of links": tell_moments,
            "events": lambda session: tell(session, site),
            "forgotten passwords": lambda session: answer_forgotten(session, settings),
            "confirmations": lambda session: post_confirmations(session, settings, self.rate_limiter),
        }
        self.sender = Sender(self.engine, settings, feeds)
        self.scheduler = Scheduler(self.engine, settings, TABLE)
        self.importer = Importer(self.engine, settings)
        self.archiver = Archiver(self.engine, settings)

    def start(self) -> None:
        self.sender.start()
        self.scheduler.start()
        self.importer.start()
        self.archiver.start()

    def stop(self) -> None:
        """Ends all threads. Work under way has LAST_SECONDS altogether; what takes longer is abandoned."""
        parts = (self.importer, self.archiver, self.sender, self.scheduler)
        until = time.monotonic() + LAST_SECONDS
        for part in parts:
            part.ended.set()
        for part in parts:
            part.stop(max(0.0, until - time.monotonic()))
        self.engine.dispose()
        self.rate_limiter.close()
