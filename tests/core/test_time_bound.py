"""Queries that are ended after some time, and what the transaction is like afterwards."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import exc as failures
from sqlalchemy import text
from sqlalchemy.orm import Session, scoped_session

from app.core.database import is_outage, time_bound

pytestmark = pytest.mark.databases

LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT max(i) FROM n"


def test_a_long_query_is_ended(session: scoped_session[Session]) -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutError) as caught, time_bound(session, 0.2):
        session.execute(text(LONG))
    assert time.monotonic() - began < 20
    assert isinstance(caught.value.__cause__, failures.OperationalError)
    assert not is_outage(caught.value.__cause__)
    session.rollback()
    assert session.scalar(text("SELECT 1")) == 1


def test_others_are_not(session: scoped_session[Session]) -> None:
    """Neither one that is quick, nor what comes after it; another error is itself."""
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    before = session.scalar(text("SHOW statement_timeout")) if is_postgresql else None
    with time_bound(session, 0.2):
        assert session.scalar(text("SELECT 1")) == 1
    assert not is_postgresql or session.scalar(text("SHOW statement_timeout")) == before
    assert session.scalar(text(LONG.replace("1000000000", "400000"))) == 400_000
    with pytest.raises(failures.DBAPIError), time_bound(session, 20):
        session.execute(text("SELECT * FROM nowhere"))
