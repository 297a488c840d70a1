"""Fixtures of the feed: visits that are ingested, drafts that get their places, and a reader of all of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.analytics.engine import open_engine
from app.analytics.ingest import Ingest
from app.core.config import Settings
from app.events.feed.reading import FeedPage, read
from app.events.feed.sequencer import sequence
from app.journal import segments
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from app.notifications.site import SiteUrls, site_of


class Feed:
    """The feed of one instance. Alice's workspace has the id of her account."""

    def __init__(self, session: scoped_session[Session], settings: Settings, alice: User) -> None:
        self.session, self.settings, self.workspace_id = session, settings, alice.id
        self.site: SiteUrls = site_of(settings)
        self.clicks: Engine = open_engine(settings)
        self.ingest = Ingest(settings)
        self.journal = Journal(segments.directory_of(settings.data_dir))

    def close(self) -> None:
        self.journal.close()
        self.ingest.close()
        self.clicks.dispose()

    def visit(self, link_id: int, number: int = 1, **facts: Any) -> None:
        """Visits that are written to the journal and ingested."""
        for _ in range(number):
            visit = {
                "time_ms": int(time.time() * 1000),
                "workspace_id": self.workspace_id,
                "is_bot": 0,
                **facts,
            }
            self.journal.append(encode(Visit(link_id=link_id, **visit)))
        self.take_in()

    def take_in(self) -> None:
        while self.ingest.step():
            pass

    def sequence(self) -> None:
        """Gives all drafts their places."""
        self.session.commit()
        while sequence(self.session(), self.clicks, self.site):
            pass

    def page(self, after: str | None = None, **asked: Any) -> FeedPage:
        self.session.rollback()
        workspace_id = asked.pop("workspace_id", self.workspace_id)
        found = read(self.session, self.site, workspace_id, after, **asked)
        self.session.rollback()
        return found

    def all(self, after: str | None = None, **asked: Any) -> list[dict[str, Any]]:
        """All events after a cursor, page by page."""
        found = []
        while True:
            page = self.page(after, **asked)
            found += page.events
            after = page.next
            if not page.is_more:
                return found

    def types(self, **asked: Any) -> list[str]:
        return [event["type"] for event in self.all(**asked)]


@pytest.fixture
def feed(session: scoped_session[Session], settings: Settings, alice: User) -> Iterator[Feed]:
    found = Feed(session, settings, alice)
    yield found
    found.close()


@pytest.fixture
def make(session: scoped_session[Session], alice: User) -> Callable[..., Any]:
    """A link, made by the services as both edges do."""
    from app.accounts.workspaces import access_of
    from app.links import services

    def make(url: str | None = None, **changes: Any) -> Any:
        defaults = {"location_url": "https://example.com/", "url": url}
        link = services.create(access_of(alice), defaults | changes)
        session.commit()
        return link

    return make
