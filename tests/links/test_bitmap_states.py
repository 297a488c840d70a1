"""States of links by bitmaps: what a look at each link gives, whatever has changed since they were made."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from sqlalchemy import delete, select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core import clock
from app.core.config import Settings
from app.core.extensions import db
from app.dashboard.links.filters import LISTING
from app.dashboard.links.states import STATES
from app.input.blocks import BLOCK_BITS
from app.input.listing import find_page
from app.input.params import QueryParams, Several
from app.links.bitmaps import upkeep
from app.links.bitmaps.tables import link_bitmap, stale_bitmap
from app.links.models import DestinationCheck, LimitCounter, Link
from tests.click_counts import store_clicks
from tests.factories import Factory

pytestmark = pytest.mark.databases

SIZE = 1 << BLOCK_BITS
START = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)
OFF: Mapping[str, Any] = {"is_enabled": False}
LATER: Mapping[str, Any] = {"schedule": True, "start_date": START + HOUR}
PASSING: Mapping[str, Any] = {"schedule": True, "start_date": START + HOUR, "end_date": START + 2 * HOUR}
OVER: Mapping[str, Any] = {"schedule": True, "end_date": START - HOUR}
LIMIT: Mapping[str, Any] = {"clicks_limit": 5}
# links of three blocks, by id
LINKS: Mapping[int, Mapping[str, Any]] = {
    1: {},
    2: OFF,
    3: {**LATER, **OFF},
    4: {**LATER, **LIMIT},
    SIZE: PASSING,
    SIZE + 1: OVER,
    SIZE + 2: {"start_date": START + HOUR, "end_date": START - HOUR},  # which count only with `schedule`
    SIZE + 3: {},
    4 * SIZE: LIMIT,
    4 * SIZE + 1: {**LIMIT, **OVER},
    4 * SIZE + 2: LIMIT,
    4 * SIZE + 3: {},
}
FAILING = (1, 2, SIZE + 1, 4 * SIZE, 4 * SIZE + 2)


@pytest.fixture(autouse=True)
def long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.bitmaps.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.links.bitmaps.upkeep.LEAST_OF_PART", 1)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[dt.datetime]:
    """The present, which a test may change."""
    found = [START]
    monkeypatch.setattr(clock, "now", lambda: found[0])
    return found


@pytest.fixture
def alice(
    now: list[dt.datetime],
    make_user: Callable[..., User],
    factory: Factory,
    session: scoped_session[Session],
) -> User:
    user = make_user("alice@example.com")
    for id_, columns in LINKS.items():
        factory.link(user, f"link-{id_}", id=id_, **columns)
    session.commit()
    make_bitmaps(user)
    return user


def make_bitmaps(user: User) -> None:
    workspace_id = access_of(user).workspace_id
    db.session.rollback()
    with Session(db.engine) as worker:
        blocks = {*upkeep.stale_blocks(worker, workspace_id), *upkeep.missing_blocks(worker, workspace_id)}
        upkeep.make_bitmaps(worker, workspace_id, sorted(blocks))


def ids_of(user: User, params: QueryParams) -> list[int]:
    db.session.rollback()
    asked = {"results_per_page": "100", **params}
    return [row.id for row in find_page(LISTING, access_of(user).workspace_id, asked).rows]


def assert_all_states(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """By bitmaps and link by link, each state, two of them, and all but one."""
    for state in STATES:
        for params in (
            {"state": state},
            {"state": Several.of((state, "off"))},
            {"state": state, "not": "state"},
        ):
            with monkeypatch.context() as patch:
                patch.setattr("app.input.list_reading.count_parts", None)
                found = ids_of(user, params)
            with monkeypatch.context() as patch:
                patch.setattr("app.input.bitmaps.LEAST_OF_PART", 100)
                wanted = ids_of(user, params)
            assert (params, found) == (params, wanted)


def click(settings: Settings, session: scoped_session[Session]) -> None:
    session.add(LimitCounter(link_id=4 * SIZE, clicks=3))
    session.add(LimitCounter(link_id=4 * SIZE + 1, clicks=9))
    session.commit()
    store_clicks(settings, {4 * SIZE: 2, 4 * SIZE + 2: 4})


def fail(_settings: Settings, session: scoped_session[Session]) -> None:
    for id_ in FAILING:
        url = session.get_one(Link, id_).location_url
        session.add(DestinationCheck(link_id=id_, url=url, failing_since=START, due=START))
    session.commit()


SINCE: Mapping[str, tuple[dt.timedelta, list[Callable[[Settings, scoped_session[Session]], None]]]] = {
    "nothing": (dt.timedelta(), []),
    "links were clicked": (dt.timedelta(), [click]),
    "destinations fail": (dt.timedelta(), [fail]),
    "both": (dt.timedelta(), [click, fail]),
    "some have begun": (HOUR, []),
    "some have ended": (2 * HOUR, []),
    "a second before some begin": (HOUR - dt.timedelta(seconds=1), [click]),
    "all of it": (3 * HOUR, [click, fail]),
}


@pytest.mark.parametrize("made", ["before", "after"])
@pytest.mark.parametrize("name", SINCE)
def test_all_states(
    name: str,
    made: str,
    alice: User,
    now: list[dt.datetime],
    settings: Settings,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later, changes = SINCE[name]
    for change in changes:
        change(settings, session)
    now[0] = START + later
    if made == "after":
        make_bitmaps(alice)
    assert_all_states(alice, monkeypatch)


def test_states_that_are_asked_with_other_filters(alice: User, session: scoped_session[Session]) -> None:
    assert ids_of(alice, {"state": "scheduled", "rule": "clicks_limit"}) == [4]
    assert ids_of(alice, {"state": "active", "rule": "clicks_limit"}) == [4 * SIZE, 4 * SIZE + 2]


def test_the_worker_sees_which_have_changed_by_themselves(
    alice: User, now: list[dt.datetime], session: scoped_session[Session]
) -> None:
    workspace_id = access_of(alice).workspace_id
    for later, wanted in ((dt.timedelta(), []), (HOUR, [0, 1]), (2 * HOUR, [1])):
        now[0] = START + later
        session.rollback()
        with Session(db.engine) as worker:
            assert upkeep.stale_blocks(worker, workspace_id) == wanted
        make_bitmaps(alice)
    names = select(link_bitmap.c.name).where(link_bitmap.c.name == "until")
    assert session.scalars(names).all() == []
    assert session.scalars(select(stale_bitmap)).all() == []


@pytest.mark.parametrize("changes", [[], [fail]], ids=["limits", "checks"])
def test_too_many_to_look_up_are_counted_as_before(
    changes: list[Callable[[Settings, scoped_session[Session]], None]],
    alice: User,
    settings: Settings,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for change in changes:
        change(settings, session)
        session.execute(delete(link_bitmap).where(link_bitmap.c.name == "state:limited"))
        session.commit()
    monkeypatch.setattr("app.links.bitmaps.states.MOST_LOOKED_UP", 1)
    wanted = ids_of(alice, {"state": "active"})
    monkeypatch.setattr("app.input.bitmaps.Selection", None)
    assert ids_of(alice, {"state": "active"}) == wanted
