"""The order of the feed while many write at once: nothing comes before a cursor that was given out."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, insert
from sqlalchemy.orm import Session

from app.analytics.engine import open_engine
from app.analytics.interning import Interner
from app.analytics.rows import append_clicks
from app.core import clock
from app.core.config import Settings
from app.core.database import prepare_engine
from app.events.drafts import DRAFTS, LinkAddress, LinkEvent, row_of
from app.events.feed.reading import read
from app.events.feed.sequencer import sequence
from app.journal.codec import Visit
from tests.events.conftest import Feed
from tests.server import wait_for

WRITERS, ROUNDS = 4, 25


@contextmanager
def engine_of(settings: Settings) -> Iterator[Engine]:
    engine = create_engine(settings.database_url)
    prepare_engine(engine, settings)
    yield engine
    engine.dispose()


def visits_of(feed: Feed, number: int, link_id: int) -> list[Visit]:
    now = int(time.time() * 1000)
    return [Visit(now, link_id, feed.workspace_id, 0, utm_source=f"{link_id}-{n}") for n in range(number)]


def draft_of(feed: Feed, link_id: int, number: int) -> dict[str, Any]:
    address = LinkAddress(f"link-{link_id}", None)
    event = LinkEvent(
        "link.updated", feed.workspace_id, link_id, address, address, "https://e.example/", {"number": number}
    )
    return row_of(event, {}, clock.now())


@pytest.fixture
def database() -> str:
    return "postgresql"


def test_clicks_wait_for_a_transaction_that_has_places(feed: Feed, settings: Settings) -> None:
    """Without that, a later one could be committed first, and a reader would never see the earlier one."""
    engine = open_engine(settings)
    done: list[str] = []

    def late() -> None:
        with engine.begin() as connection:
            append_clicks(connection, Interner(), visits_of(feed, 2, 2))
        done.append("late")

    with engine.connect() as connection:
        transaction = connection.begin()
        append_clicks(connection, Interner(), visits_of(feed, 3, 1))
        thread = threading.Thread(target=late)
        thread.start()
        assert feed.all() == []
        assert done == []
        transaction.commit()
    thread.join()
    engine.dispose()
    assert [event["data"]["link"]["id"] for event in feed.all()] == [1, 1, 1, 2, 2]


def test_a_change_that_is_committed_late_comes_at_the_end(feed: Feed, settings: Settings) -> None:
    with engine_of(settings) as engine, Session(engine) as early, Session(engine) as late:
        early.execute(insert(DRAFTS), [draft_of(feed, 1, 1)])  # has the lower id
        late.execute(insert(DRAFTS), [draft_of(feed, 2, 2)])
        late.commit()
        feed.sequence()
        before = feed.page()
        assert [event["data"]["number"] for event in before.events] == [2]
        early.commit()
        feed.sequence()
        assert [event["data"]["number"] for event in feed.page(before.next).events] == [1]
        assert [event["data"]["number"] for event in feed.all()] == [2, 1]


class Together:
    """Writers of clicks and of changes, two sequencers and a reader, all at once, each in a thread."""

    def __init__(self, feed: Feed, engine: Engine, clicks: Engine) -> None:
        self.feed, self.engine, self.clicks = feed, engine, clicks
        self.is_over = threading.Event()
        self.errors: list[BaseException] = []
        self.followed: list[str] = []

    def thread(self, work: Callable[..., None], *arguments: int) -> threading.Thread:
        thread = threading.Thread(target=self.attempt, args=(work, *arguments))
        thread.start()
        return thread

    def attempt(self, work: Callable[..., None], *arguments: int) -> None:
        try:
            work(*arguments)
        except BaseException as error:  # noqa: BLE001  of a thread: the test tells it
            self.errors.append(error)

    def write_clicks(self, link_id: int) -> None:
        for _ in range(ROUNDS):
            with self.clicks.begin() as connection:
                append_clicks(connection, Interner(), visits_of(self.feed, 7, link_id))

    def write_changes(self, link_id: int) -> None:
        for number in range(ROUNDS):
            with Session(self.engine) as session:
                session.execute(insert(DRAFTS), [draft_of(self.feed, link_id, number)])
                session.commit()

    def give_places(self) -> None:
        while not self.is_over.is_set():
            with Session(self.engine) as session:
                sequence(session, self.clicks, self.feed.site)

    def follow(self) -> None:
        after, is_last, is_more = None, False, True
        while is_more or not is_last:
            is_last = self.is_over.is_set()
            with Session(self.engine) as session:
                page = read(session, self.feed.site, self.feed.workspace_id, after, limit=13)
            self.followed.extend(json.dumps(event) for event in page.events)
            after, is_more = page.next, page.is_more

    def has_drafts(self) -> bool:
        with self.engine.connect() as connection:
            return connection.execute(DRAFTS.select().limit(1)).first() is not None


def test_a_reader_beside_writers_and_sequencers_sees_what_a_later_one_sees(
    feed: Feed, settings: Settings
) -> None:
    links = range(10, 10 + WRITERS)
    clicks = open_engine(settings)
    with engine_of(settings) as engine:
        all_ = Together(feed, engine, clicks)
        writers = [all_.thread(all_.write_clicks, link_id) for link_id in range(1, WRITERS)]
        writers += [all_.thread(all_.write_changes, link_id) for link_id in links]
        others = [all_.thread(work) for work in (all_.give_places, all_.give_places, all_.follow)]
        for thread in writers:
            thread.join()
        wait_for(lambda: not all_.has_drafts(), "places for all")
        all_.is_over.set()
        for thread in others:
            thread.join()
    clicks.dispose()
    assert all_.errors == []
    final = feed.all(limit=1000)
    assert all_.followed == [json.dumps(event) for event in final]
    assert len({event["id"] for event in final}) == len(final) == ROUNDS * (7 * (WRITERS - 1) + WRITERS)
    for link_id in links:  # the changes of one link stay in order
        numbers = [one["data"]["number"] for one in final if one["data"]["link"]["id"] == link_id]
        assert numbers == list(range(ROUNDS))
