"""Reads of figures: from the replica, where one is set and answers, else from the database itself."""

# see docs/decisions/2026-11-25-replica-for-statistics.md
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flask import Flask, current_app, g
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.core.extensions import db
from app.core.replica import Replica

REPLICA = "replica"
SESSION = "_replica_session"

T = TypeVar("T")


def init_app(app: Flask) -> None:
    settings = app.config["WAYPOST"]
    app.extensions[REPLICA] = Replica(settings) if settings.clicks_read_url else None
    app.teardown_appcontext(end_read)


def end_read(_error: BaseException | None = None) -> None:
    if (session := g.pop(SESSION, None)) is not None:
        session.close()


def find_replica() -> Replica | None:
    found: Replica | None = current_app.extensions[REPLICA]
    return found


def read_figures(ask: Callable[[Any], T]) -> T:
    """What `ask` returns for a session of the replica; for that of the database, if the replica fails.

    Whatever goes wrong there may be the replica's fault alone: it may be down, or lack the newest migration.
    """
    replica = find_replica()
    if replica is not None and not replica.is_down:
        try:
            return ask(replica_session(replica))
        except SQLAlchemyError as error:
            end_read()
            replica.note_failure(error)
    return ask(db.session)


def replica_session(replica: Replica) -> Session:
    """The request's session on the replica. Its first statement tells whether the replica answers at all."""
    if SESSION not in g:
        setattr(g, SESSION, replica.open_session())
    found: Session = getattr(g, SESSION)
    return found


def figures_engine() -> Engine:
    """The engine for answers that are read in pages while they are sent."""
    read_figures(lambda bind: bind.execute(text("SELECT 1")))
    replica = find_replica()
    return db.engine if replica is None or replica.is_down else replica.engine
