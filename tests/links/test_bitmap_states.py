"""States of links by bitmaps: what a look at each link gives, whatever has changed since they were made."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from sqlalchemy import Executable, delete, select, update
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
from app.links.bitmaps import clicks, storage, upkeep
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
    monkeypatch.setattr("app.input.selections.LEAST_OF_PART", 1)
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


def stale(session: scoped_session[Session]) -> list[int]:
    """The blocks that are marked."""
    return sorted(session.scalars(select(stale_bitmap.c.block).distinct()))


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
                patch.setattr("app.input.selections.LEAST_OF_PART", 100)
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


@pytest.fixture
def many_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are more links with a limit than are looked up."""
    monkeypatch.setattr("app.links.bitmaps.states.MOST_LOOKED_UP", 0)


@pytest.mark.usefixtures("many_limits")
def test_many_limits_are_seen_as_soon_as_a_visit_reaches_one(
    alice: User, settings: Settings, session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The visit itself marks the block: tests/redirects/test_limits.py."""
    click(settings, session)
    fail(settings, session)
    storage.mark(session, 4 * SIZE)
    session.commit()
    assert_all_states(alice, monkeypatch)
    make_bitmaps(alice)
    assert stale(session) == []
    assert_all_states(alice, monkeypatch)


@pytest.mark.usefixtures("many_limits")
def test_a_limit_that_visits_from_before_it_reach_is_seen_after_a_round(
    alice: User, settings: Settings, session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    store_clicks(settings, {4 * SIZE: 5, 4 * SIZE + 2: 4, 4: 9, 1: 9})  # of which one was active
    workspace_id = access_of(alice).workspace_id
    session.rollback()
    with Session(db.engine) as worker:
        for _ in clicks.renew_clicks(worker, workspace_id):
            pass
    assert stale(session) == [4]
    make_bitmaps(alice)
    assert ids_of(alice, {"state": "limit"}) == [4 * SIZE]
    assert_all_states(alice, monkeypatch)


# what happens to the check of a destination, and whether its link's state is another one then
CHECKS: Mapping[str, tuple[Executable, bool]] = {
    "it begins to fail": (update(DestinationCheck).values(failing_since=START), True),
    "it is looked at again": (update(DestinationCheck).values(due=START + HOUR, failures=2), False),
    "it goes": (delete(DestinationCheck), False),
}
OF_FAILING: Mapping[str, tuple[Executable, bool]] = {
    "it fails on": (update(DestinationCheck).values(failing_since=START, reason="again"), False),
    "it recovers": (update(DestinationCheck).values(failing_since=None), True),
    "it is of another destination": (update(DestinationCheck).values(url="https://other.example"), True),
    "it goes": (delete(DestinationCheck), True),
    "the link goes elsewhere": (update(Link).values(location_url="https://other.example"), True),
}


@pytest.mark.parametrize(
    ("since", "change", "is_marked"),
    [
        *(pytest.param(None, *row, id=name) for name, row in CHECKS.items()),
        *(pytest.param(START, *row, id=f"failing, and {name}") for name, row in OF_FAILING.items()),
    ],
)
def test_what_makes_a_link_fail_marks_its_block(
    since: dt.datetime | None,
    change: Executable,
    is_marked: bool,
    alice: User,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = session.get_one(Link, SIZE + 3).location_url
    session.add(DestinationCheck(link_id=SIZE + 3, url=url, failing_since=since, due=START))
    session.commit()
    make_bitmaps(alice)
    session.execute(change)
    session.commit()
    assert (1 in stale(session)) is is_marked
    assert_all_states(alice, monkeypatch)
    make_bitmaps(alice)
    assert_all_states(alice, monkeypatch)
