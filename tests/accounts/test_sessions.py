"""Sessions: how long they last, and how their owner ends them."""

from __future__ import annotations

import datetime as dt

import pytest
import sqlalchemy as sa
import time_machine

from app.accounts import sessions
from app.accounts.models import User, UserSession
from app.core.clock import now


def test_what_is_no_token_is_nobodys(alice: User) -> None:
    for token in ("", ".", "1.1", "x" * 5000, "é\ud800", "\x00"):
        assert sessions.find(token) is None, token


def test_only_a_digest_is_stored(session, alice: User) -> None:
    token = sessions.begin(alice, browser="B" * 99, system="macOS")
    session.commit()
    row = session.scalars(sa.select(UserSession)).one()
    assert token not in {str(value) for value in vars(row).values()}
    assert (row.browser, row.system, row.user) == ("B" * 64, "macOS", alice)


@pytest.mark.databases
@pytest.mark.parametrize(("is_remembered", "days"), [(True, 30), (False, 1)], ids=["remembered", "not"])
def test_it_lasts_since_the_last_visit(session, alice: User, is_remembered: bool, days: int) -> None:
    year = dt.timedelta(days=365)  # so that the limit since the sign-in does not end it first
    token = sessions.begin(alice, is_remembered=is_remembered, lifetime=year)
    session.commit()
    almost = dt.timedelta(days=days, minutes=-1)
    with time_machine.travel(now() + almost):
        sessions.note_use(sessions.find(token, year), year)
        session.rollback()
        with time_machine.travel(now() + almost):
            assert sessions.find(token, year)
            session.rollback()
        with time_machine.travel(now() + dt.timedelta(days=days, minutes=1)):
            assert sessions.find(token, year) is None
            assert sessions.list_sessions(alice, year) == []
            session.rollback()
            sessions.sweep(session)
            assert session.scalar(sa.select(sa.func.count()).select_from(UserSession)) == 0


def test_it_ends_thirty_days_after_the_sign_in_however_it_is_used(session, alice: User) -> None:
    token, began = sessions.begin(alice, is_remembered=True), now()
    session.commit()
    for day in range(1, 30):
        with time_machine.travel(began + dt.timedelta(days=day)):
            sessions.note_use(sessions.find(token))
            session.rollback()
    with time_machine.travel(began + dt.timedelta(days=30, seconds=1)):
        assert sessions.find(token) is None
        assert sessions.list_sessions(alice) == []


def test_the_last_visit_is_written_seldom(session, alice: User) -> None:
    token = sessions.begin(alice)
    session.commit()
    first = sessions.find(token).last_datetime
    sessions.note_use(sessions.find(token))
    session.rollback()
    assert sessions.find(token).last_datetime == first
    assert first >= sessions.find(token).user.seen_datetime >= alice.datetime
    with time_machine.travel(now() + sessions.SEEN_EVERY):
        sessions.note_use(sessions.find(token))
        session.rollback()
        found = sessions.find(token)
        assert found.last_datetime >= first + sessions.SEEN_EVERY
        assert found.user.seen_datetime >= found.last_datetime
        assert found.user.session_version == found.version


def test_one_ends_or_all_others(session, alice: User, bob: User) -> None:
    mine, second, third, bobs = (sessions.begin(user) for user in (alice, alice, alice, bob))
    session.commit()
    sessions.end(sessions.find(second))
    session.commit()
    assert [sessions.find(token) is not None for token in (mine, second, third, bobs)] == [1, 0, 1, 1]
    assert len(sessions.list_sessions(alice)) == 2
    assert sessions.end_others(sessions.find(mine)) == 1
    session.commit()
    assert [sessions.find(token) is not None for token in (mine, second, third, bobs)] == [1, 0, 0, 1]
