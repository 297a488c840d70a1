"""Fixtures of pushed events: handlers that follow the feed, and a pusher that takes its turns in the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import create_engine, select, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.access import Access
from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.core.database import engine_options, prepare_engine
from app.core.leases import precise_now
from app.events.push import handlers
from app.events.push.pusher import EventPusher
from app.notifications.models import Delivery, EventCursor, NotificationHandler

WEBHOOK = {"type": "webhook", "name": "n", "settings": {"webhook": "https://hooks.example/"}}
CHAT = {"type": "chat_a", "name": "n", "settings": {"chat_a": "https://hooks.example/"}}


class Push:
    """Pushes the feed of one instance."""

    def __init__(self, session: scoped_session[Session], settings: Settings) -> None:
        self.session = session
        self.engine = create_engine(settings.database_url, **engine_options(settings))
        prepare_engine(self.engine, settings)
        self.pusher = EventPusher(self.engine, settings)

    def __call__(self) -> None:
        """All turns that there are at this moment, whenever the next one was planned."""
        self.session.commit()
        self.session.execute(update(EventCursor).values(due=precise_now()))
        self.session.commit()
        while self.pusher.turn():
            pass

    def told(self, handler: NotificationHandler | None = None) -> list[tuple[str, dict[str, Any]]]:
        """Type and data of the deliveries, in their order."""
        self.session.expire_all()
        rows = select(Delivery).order_by(Delivery.id)
        rows = rows if handler is None else rows.where(Delivery.handler_id == handler.id)
        found = [(row.type, row.data) for row in self.session.scalars(rows)]
        self.session.rollback()
        return found

    def clicks(self, handler: NotificationHandler | None = None) -> list[str]:
        """The ids of the clicks that are told."""
        told = self.told(handler)
        return [click["id"] for type_, data in told if type_ == "link.clicked" for click in data["clicks"]]


@pytest.fixture
def push(session: scoped_session[Session], settings: Settings) -> Iterator[Push]:
    found = Push(session, settings)
    yield found
    found.engine.dispose()


@pytest.fixture
def follower(session: scoped_session[Session], alice: User) -> Callable[..., NotificationHandler]:
    """A handler of alice's, made by the services as both edges do."""

    def follower(access: Access | None = None, **changes: Any) -> NotificationHandler:
        defaults = {**WEBHOOK, "events": ["link.clicked"], "scope": "workspace"}
        found = handlers.create(access or access_of(alice), {**defaults, **changes})
        session.commit()
        return found

    return follower
