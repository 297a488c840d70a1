"""Replica of the PostgreSQL database: an engine that only reads, and gives up soon."""

# see docs/decisions/2026-11-25-replica-for-statistics.md
from __future__ import annotations

import logging
import time
from typing import cast

from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from app.core.config import Settings
from app.core.database import KEPT_CONNECTIONS
from app.core.patience import Patience
from app.core.poolers import suit_pooler
from app.core.postgresql import postgresql_connection, watch_waiting

# whether the database itself hangs says nothing about it
READS = Patience(connect=2, silence=20, statement=15, idle=60, heeds_outage=False)
FIRST = Patience(connect=2, silence=2, statement=2, heeds_outage=False)
DOWN_SECONDS = 15.0  # it is left alone after a failure

log = logging.getLogger(__name__)


class Replica:
    """A replica that may be down, late or frozen. `engine` reads in one snapshot for each transaction."""

    def __init__(self, settings: Settings) -> None:
        self.engine = create_engine(
            settings.clicks_read_url or "",
            pool_size=min(KEPT_CONNECTIONS, settings.database_pool_size),
            max_overflow=max(0, settings.database_pool_size - KEPT_CONNECTIONS),
            pool_timeout=FIRST.silence,
            hide_parameters=True,
            isolation_level="REPEATABLE READ",
            execution_options={"postgresql_readonly": True},
        )
        if settings.is_pooled:
            suit_pooler(self.engine)  # before what opens the connection
        watch_waiting(self.engine, READS)
        self._down_until = 0.0

    @property
    def is_down(self) -> bool:
        """Whether it failed just now."""
        return time.monotonic() < self._down_until

    def open_session(self) -> Session:
        """A new session. Raises SQLAlchemyError where the replica does not answer its first statement."""
        session = Session(self.engine)
        try:
            driver = cast(
                "postgresql_connection.Connection", session.connection().connection.dbapi_connection
            )
            driver.patience = FIRST
            session.execute(text("SELECT 1"))
            driver.patience = READS
        except BaseException:
            session.close()
            raise
        return session

    def note_failure(self, error: Exception) -> None:
        """Leaves it alone for a while, with all connections it has."""
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        if not self.is_down:
            log.warning("The replica does not answer statistics; the database itself does: %s", reason)
        self._down_until = time.monotonic() + DOWN_SECONDS
        self.engine.dispose()
