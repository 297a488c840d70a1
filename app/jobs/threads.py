"""What may take long in the worker? Deliveries and jobs, in threads: neither holds up the journal."""

from __future__ import annotations

from sqlalchemy import create_engine

from app.config import Settings
from app.database import engine_options, prepare_engine
from app.jobs.archives import Archiver
from app.jobs.confirmations import post_confirmations
from app.jobs.forgotten import answer_forgotten
from app.jobs.imports import Importer
from app.jobs.schedule import Scheduler
from app.jobs.table import TABLE
from app.links.moments import tell_moments
from app.links.telling import tell
from app.notifications.letters import Postman
from app.notifications.sender import Sender
from app.notifications.site import site_of
from app.throttles import Throttles

LAST_SECONDS = 1.5  # for what is under way when the end is asked for


class Beside:
    """Started when the worker works, and stopped when it ends."""

    def __init__(self, settings: Settings) -> None:
        self.engine = create_engine(settings.database_url, **engine_options(settings))
        prepare_engine(self.engine, settings)
        site = site_of(settings)
        feeds = {"starts and ends of links": tell_moments, "events": lambda session: tell(session, site)}
        self.sender = Sender(self.engine, settings, feeds)
        self.throttles = Throttles(settings)
        letter_feeds = {
            "forgotten passwords": lambda session: answer_forgotten(session, settings),
            "confirmations": lambda session: post_confirmations(session, settings, self.throttles),
        }
        self.postman = Postman(self.engine, settings, letter_feeds)
        self.scheduler = Scheduler(self.engine, settings, TABLE)
        self.importer = Importer(self.engine, settings)
        self.archiver = Archiver(self.engine, settings)

    def start(self) -> None:
        self.sender.start()
        self.scheduler.start()
        self.importer.start()
        self.postman.start()
        self.archiver.start()

    def stop(self) -> None:
        self.sender.stop(LAST_SECONDS)
        self.scheduler.stop(LAST_SECONDS)
        self.importer.stop(LAST_SECONDS)
        self.postman.stop(LAST_SECONDS)
        self.archiver.stop(LAST_SECONDS)
        self.engine.dispose()
        self.throttles.close()
