"""What do the API's tests need beside what all tests have?"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.clicks.models import Counter
from app.config import Settings
from app.database import clicks_path


@pytest.fixture
def count_clicks(settings: Settings, session: scoped_session[Session]) -> Callable[[int, int], None]:
    """`count_clicks(link_id, 5)`: as the ingesting process would, which alone may write there."""

    def count(link_id: int, clicks: int) -> None:
        if settings.is_sqlite:
            with closing(sqlite3.connect(clicks_path(settings))) as connection, connection:
                connection.execute("INSERT INTO counter (link_id, clicks) VALUES (?, ?)", [link_id, clicks])
        else:
            session.add(Counter(link_id=link_id, clicks=clicks))
            session.commit()

    return count
