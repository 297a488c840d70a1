"""What comes late, what is done twice, and what is kept no more."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.analytics.journal_import import JournalImport
from app.analytics.upkeep import Upkeep
from app.core import clock
from app.core.config import Settings
from app.core.database import begin_write
from app.events.feed import sequencer
from app.events.feed.cursors import CursorGone
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.events.conftest import Feed

pytestmark = pytest.mark.databases
Make = Callable[..., Any]


def test_clicks_of_another_machines_journal_come_at_the_end(
    feed: Feed, make: Make, settings: Settings, tmp_path: Path
) -> None:
    link = make("spring")
    feed.sequence()
    feed.visit(link.id, 3)
    before = feed.page()
    rescued = tmp_path / "rescued"
    rescued.mkdir()
    journal = Journal(rescued)
    for number in range(5):  # of hours ago, and one of last year
        time_ms = 1_764_000_000_000 - number * 3_600_000 - (number == 4) * 365 * 86_400_000
        journal.append(encode(Visit(time_ms, link.id, feed.workspace_id, 0, utm_source="late")))
    journal.close()
    for _ in range(2):
        run = JournalImport(settings, rescued, takes_old=True)
        run.run()
        run.close()
    late = feed.page(before.next).events
    assert [event["data"]["utm_source"] for event in late] == ["late"] * 5
    assert feed.all()[:4] == before.events
    assert len(feed.all(limit=2)) == 9
    assert len(feed.all(link_id=link.id, types=frozenset({"link.clicked"}))) == 8


def test_a_sequencer_that_is_killed_in_between_does_it_again(
    feed: Feed, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(_session: Any) -> None:
        raise Killed

    make("one")
    make("two")
    with monkeypatch.context() as patch:
        patch.setattr(sequencer, "begin_write", die)  # the entries are there, their drafts too
        with pytest.raises(Killed):
            feed.sequence()
    feed.session.rollback()
    before = feed.all()
    assert len(before) == 2
    make("three")
    feed.sequence()
    assert [event["data"]["link"]["url"] for event in feed.all()] == ["one", "two", "three"]
    assert feed.all()[:2] == before


def test_what_is_older_than_clicks_are_kept_is_gone(
    feed: Feed, make: Make, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = make("spring")
    feed.sequence()
    feed.visit(link.id, 3)
    old = feed.page(limit=2)
    told = {event["id"] for event in feed.all()}
    upkeep = Upkeep(settings)
    later = clock.now() + settings.click_retention_days * dt.timedelta(days=1)
    while upkeep.step(later):
        pass
    assert len(feed.all(old.next)) == 2  # kept until the end of the day
    later += dt.timedelta(days=1)
    monkeypatch.setattr(upkeep, "_rests_until", 0.0)
    while upkeep.step(later):
        pass
    upkeep.close()
    with pytest.raises(CursorGone) as caught:
        feed.page(old.next)
    assert feed.all(caught.value.oldest) == feed.all() == []
    feed.visit(link.id)
    [event] = feed.all(caught.value.oldest)
    assert event["id"] not in told


def test_events_of_a_link_that_handlers_are_told_of_are_in_the_feed(
    feed: Feed, make: Make, session: scoped_session[Session]
) -> None:
    from app.notifications.events import FAILING, raise_failing

    link = make("spring")
    begin_write(session)
    raise_failing(session, link.id, reason="It answered 500.")
    session.commit()
    feed.sequence()
    event = feed.all()[-1]
    assert event["type"] == FAILING
    assert event["data"]["reason"] == "It answered 500."
    assert event["data"]["link"]["url"] == "spring"
