"""Fixtures of the API's tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.analytics.models import Counter
from app.core.config import Settings
from app.core.database import clicks_path


@pytest.fixture
def count_clicks(settings: Settings, session: scoped_session[Session]) -> Callable[[int, int], None]:
    """`count_clicks(link_id, 5)`: inserts a counter, as only the ingesting process does otherwise."""

    def count(link_id: int, clicks: int) -> None:
        if settings.is_sqlite:
            with closing(sqlite3.connect(clicks_path(settings))) as connection, connection:
                connection.execute("INSERT INTO counter (link_id, clicks) VALUES (?, ?)", [link_id, clicks])
        else:
            session.add(Counter(link_id=link_id, clicks=clicks))
            session.commit()

    return count
