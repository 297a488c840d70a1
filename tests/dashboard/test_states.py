"""Is a link's state the one that its visitors meet?"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from app.dashboard.states import ACTIVE, ENDED, LIMIT, OFF, SCHEDULED, State, state_of
from app.links.models import Link

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
def test_states(columns: dict[str, Any], clicks: int, state: State) -> None:
    link = Link(**{"is_enabled": True, "schedule": False, **columns})
    assert state_of(link, clicks, NOW) == state
