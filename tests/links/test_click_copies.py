"""Copies of the clicks of links, by which lists order: made soon after a click, and made up for at a start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.analytics.models import Counter
from app.core.config import Settings
from app.core.database import prepare_engine
from app.links import clicks
from app.links.clicks import ClickCopies
from app.links.models import LimitCounter, link_clicks
from tests.factories import Factory

pytestmark = pytest.mark.databases


@pytest.fixture
def engine(settings: Settings) -> Iterator[sa.Engine]:
    engine = sa.create_engine(settings.database_url)
    prepare_engine(engine, settings, clicks_mode="rw")
    yield engine
    engine.dispose()


@pytest.fixture
def ids(alice: User, factory: Factory) -> list[int]:
    return [factory.link(alice).id for _ in range(5)]


def count(engine: sa.Engine, counted: dict[int, int]) -> None:
    with engine.begin() as connection:
        rows = [{"link_id": id_, "clicks": number} for id_, number in counted.items()]
        connection.execute(sa.delete(Counter))
        connection.execute(sa.insert(Counter), rows)


def copied(session: scoped_session[Session]) -> list[int]:
    session.rollback()
    return list(session.scalars(sa.select(link_clicks.c.clicks).order_by(link_clicks.c.link_id)))


def test_late_copies(
    engine: sa.Engine, ids: list[int], session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are looked at in the beginning, then those that were clicked; a link that is gone has none."""
    monkeypatch.setattr(clicks, "LOOKED_AT", 2)
    session.add(LimitCounter(link_id=ids[1], clicks=5))
    session.commit()
    count(engine, {ids[0]: 3, ids[1]: 2, ids[4]: 1, 999: 7})
    copies, steps = ClickCopies(engine), 1
    while copies.step():
        steps += 1
    assert (steps, copied(session)) == (4, [3, 7, 0, 0, 1])
    count(engine, {ids[0]: 4, ids[1]: 9, ids[2]: 6})
    copies.add([ids[0], ids[2], 999])
    assert (copies.step(), copied(session)) == (False, [4, 7, 6, 0, 1])
    assert not copies.step()


def test_a_copy_that_was_overtaken_changes_nothing(
    engine: sa.Engine, ids: list[int], session: scoped_session[Session]
) -> None:
    count(engine, {ids[0]: 3})
    clicks.copy_clicks(session, ids)
    session.commit()
    count(engine, {ids[0]: 2})
    clicks.copy_clicks(session, ids)
    session.commit()
    assert copied(session) == [3, 0, 0, 0, 0]


def test_more_than_are_kept_in_memory(
    engine: sa.Engine, ids: list[int], session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clicks, "MAX_LATE", 2)
    monkeypatch.setattr(clicks, "MAX_COPIED", 1)
    copies = ClickCopies(engine)
    while copies.step():
        pass
    count(engine, dict.fromkeys(ids, 8))
    copies.add(ids[:2])
    assert (copies.step(), copied(session)) == (True, [8, 0, 0, 0, 0])
    copies.add(ids[2:])
    while copies.step():
        pass
    assert (copies.late, copied(session)) == (set(), [8] * 5)
