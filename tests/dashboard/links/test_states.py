"""States of a link: schedule, click limit, off and failing, in Python and as a query."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import select

from app.core import clock
from app.dashboard.links.states import (
    ACTIVE,
    ENDED,
    FAILING,
    LIMIT,
    OFF,
    SCHEDULED,
    STATES,
    Badge,
    state_conditions,
    state_of,
)
from app.links.clicks import clicks_of
from app.links.destination_checks import failing
from app.links.models import DestinationCheck, LimitCounter, Link
from tests.dashboard.conftest import Desk

NOW = dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)


@pytest.mark.parametrize(
    ("columns", "clicks", "state"),
    {
        "plain": ({}, 0, ACTIVE),
        "off": ({"is_enabled": False}, 0, OFF),
        "off and ended": ({"is_enabled": False, "schedule": True, "end_date": NOW - SECOND}, 0, OFF),
        "before the start": ({"schedule": True, "start_date": NOW + SECOND}, 0, SCHEDULED),
        "at the start": ({"schedule": True, "start_date": NOW}, 0, ACTIVE),
        "before the end": ({"schedule": True, "end_date": NOW + SECOND}, 0, ACTIVE),
        "at the end": ({"schedule": True, "end_date": NOW}, 0, ENDED),
        "no schedule": ({"schedule": False, "end_date": NOW}, 0, ACTIVE),
        "under the limit": ({"clicks_limit": 5}, 4, ACTIVE),
        "at the limit": ({"clicks_limit": 5}, 5, LIMIT),
    }.values(),
)
def test_states(columns: dict[str, Any], clicks: int, state: Badge) -> None:
    link = Link(**{"is_enabled": True, "schedule": False, **columns})
    assert state_of(link, clicks, NOW) == state
    assert state_of(link, clicks, NOW, is_failing=True) == (FAILING if state is ACTIVE else state)


@pytest.mark.databases
def test_a_query_knows_the_same_states(alice: Any, make_link: Any, session: Any, database: str) -> None:
    """The list's filter by state finds the links whose rows show that state."""
    now = clock.now()
    kinds = {
        "plain": {},
        "off": {"is_enabled": False, "schedule": True, "end_date": now - SECOND},
        "soon": {"schedule": True, "start_date": now + 60 * SECOND},
        "both": {"schedule": True, "start_date": now - SECOND, "end_date": now + 60 * SECOND},
        "over": {"schedule": True, "end_date": now},
        "used": {"clicks_limit": 5},
        "using": {"clicks_limit": 6},
        "broken": {},
        "mended": {},
        "off and broken": {"is_enabled": False},
    }
    links = {name: make_link(alice, name, **columns) for name, columns in kinds.items()}
    for name in ("used", "using"):
        session.add(LimitCounter(link_id=links[name].id, clicks=5))
    for name in ("broken", "mended", "off and broken"):
        url = links[name].location_url + ("before" if name == "mended" else "")
        times = {"failing_since": now, "due": now, "planned": now}
        session.add(DestinationCheck(link_id=links[name].id, url=url, failures=3, **times))
    session.commit()
    broken = failing(session, [link.id for link in links.values()])
    assert {id_: fault.since for id_, fault in broken.items()} == {
        links[name].id: now for name in ("broken", "off and broken")
    }
    counts = clicks_of([link.id for link in links.values()])
    in_state = {
        word: list(session.scalars(select(Link.url).where(condition)))
        for word, condition in state_conditions(now).items()
    }
    found = {url: word for word, urls in in_state.items() for url in urls}
    assert sum(map(len, in_state.values())) == len(links)
    assert found == {
        name: next(
            word
            for word, state in STATES.items()
            if state == state_of(link, counts[link.id], now, link.id in broken)
        )
        for name, link in links.items()
    }
    assert found["broken"] == "failing"
    assert set(found.values()) == set(STATES)


def test_links_of_a_state_in_the_order_of_their_clicks(desk: Desk, make_link: Any, alice: Any) -> None:
    """Both ask for the clicks: the state by a subquery, the order by a join."""
    for state in STATES:
        make_link(alice, clicks_limit=3)
        assert desk.get(f"/links/?state={state}&order_by=clicks").status_code == 200, state
