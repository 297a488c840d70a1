"""The feed after a restore: no cursor and no id that was given in the lost past is given again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from sqlalchemy import delete, select, text, update
from sqlalchemy.engine import Connection

from app.analytics.models import Click
from app.analytics.rows import SEQUENCE
from app.core.leases import precise_now
from app.events.entries import COUNTER, ENTRIES
from app.operations.backups.restoring import PER_SECOND, leave_past
from tests.events.conftest import Feed

pytestmark = pytest.mark.databases
CLICKS: Any = Click.__table__


class Backup:
    """How far the feed was at one time. `restore` brings that back, as an older copy of the database does."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        with feed.clicks.begin() as connection:
            self.counter = connection.execute(select(COUNTER.c.position, COUNTER.c.click_id)).one()
            self.last_click = max(connection.scalars(select(CLICKS.c.id)), default=0)

    def restore(self) -> None:
        with self.feed.clicks.begin() as connection:
            connection.execute(delete(ENTRIES).where(ENTRIES.c.position > self.counter.position))
            connection.execute(delete(CLICKS).where(CLICKS.c.id > self.last_click))
            connection.execute(update(COUNTER).values(**self.counter._mapping))
            if connection.dialect.name == "postgresql":
                rewind(connection, self.last_click)


def rewind(connection: Connection, last: int) -> None:
    connection.execute(text(f"SELECT setval('{SEQUENCE}', :last)"), {"last": max(last, 1)})


def ids(events: list[dict[str, Any]]) -> set[str]:
    return {event["id"] for event in events}


def test_a_cursor_of_the_lost_past_skips_nothing(feed: Feed, make: Callable[..., Any]) -> None:
    link = make("spring")
    feed.sequence()
    feed.visit(link.id, 5)
    begin, kept = feed.page(), feed.all()
    backup = Backup(feed)
    cursors, gone = [begin.next], ids(kept)
    for days in range(3):  # the second and the third restore are of the same backup
        with time_machine.travel(precise_now() + dt.timedelta(days=days)):
            feed.visit(link.id, 7)
            make(f"lost{days}")
            feed.sequence()
            lost = feed.all(begin.next)
            assert len(lost) == 8 and not ids(lost) & gone
            for cursor in cursors:
                assert feed.all(cursor) == lost, "all of it, and nothing else"
            cursors.append(feed.page(cursors[-1]).next)
            gone |= ids(lost)
            backup.restore()
            leave_past(feed.clicks)
            assert [feed.all(cursor) for cursor in cursors] == [[]] * len(cursors)
            assert feed.all() == kept


def test_an_instance_without_a_feed_and_with_a_clock_that_is_behind(feed: Feed) -> None:
    leave_past(feed.clicks)
    feed.visit(1, 2)
    first = feed.page()
    backup = Backup(feed)
    with time_machine.travel(precise_now() - dt.timedelta(days=365)):
        leave_past(feed.clicks)
        feed.visit(1, 2)
    assert len(feed.page(first.next).events) == 2
    with feed.clicks.connect() as connection:
        position = connection.scalar(select(COUNTER.c.position)) or 0
    assert position > backup.counter.position + PER_SECOND


def test_ids_stay_exact_in_every_program() -> None:
    in_2100 = dt.datetime(2100, 1, 1, tzinfo=dt.UTC).timestamp()
    assert in_2100 * PER_SECOND < 2**53
