"""Audit entries: nothing changes or deletes one, except retention once it is old enough."""

from __future__ import annotations

import datetime as dt

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from app.accounts.deletion.purging import purge
from app.audit.models import AuditEntry, AuditRetention
from app.audit.services import delete_old_entries, record
from app.core.clock import now
from app.core.extensions import db

pytestmark = pytest.mark.databases


@pytest.fixture
def make_entry(session):
    def make(days_ago: float = 0, **columns) -> int:
        entry = AuditEntry(action="sign_in", datetime=now() - dt.timedelta(days=days_ago), **columns)
        session.add(entry)
        session.commit()
        return entry.id

    return make


def ids(session) -> list[int]:
    session.rollback()
    return list(session.scalars(sa.select(AuditEntry.id).order_by(AuditEntry.id)))


FORBIDDEN = {
    "an update": "UPDATE audit_entry SET action = 'x'",
    "an update of the time, to be deletable": "UPDATE audit_entry SET datetime = '2001-01-01 00:00:00'",
    "a deletion": "DELETE FROM audit_entry",
    "a deletion of the retention": "DELETE FROM audit_entry WHERE datetime < '2100-01-01'",
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_the_database_refuses(session, make_entry, name: str) -> None:
    made = make_entry()
    with pytest.raises(DBAPIError, match="append-only"):
        session.execute(sa.text(FORBIDDEN[name]))
    assert ids(session) == [made]


def test_a_table_is_not_emptied_at_once(session, make_entry, database: str) -> None:
    if database == "sqlite":
        pytest.skip("SQLite has no TRUNCATE")
    made = make_entry(days_ago=5000)
    with pytest.raises(DBAPIError, match="append-only"):
        session.execute(sa.text("TRUNCATE audit_entry"))
    assert ids(session) == [made]


def test_retention_deletes_what_is_older_than_the_setting(session, make_entry) -> None:
    old = [make_entry(days_ago) for days_ago in (5000, 366, 365.001)]
    young = [make_entry(days_ago) for days_ago in (364.9, 30, 0)]
    assert delete_old_entries(session(), 365) == len(old)
    assert ids(session) == young
    assert delete_old_entries(session(), 60) == 1
    assert ids(session) == young[1:]


def test_what_retention_protects_nobody_else_deletes(session, make_entry) -> None:
    delete_old_entries(session(), 365)
    made = make_entry(364)
    with pytest.raises(DBAPIError, match="append-only"):
        session.execute(sa.text("DELETE FROM audit_entry"))
    assert ids(session) == [made]


def test_no_setting_protects_for_less_than_a_month(session) -> None:
    session.add(AuditRetention(days=29))
    with pytest.raises(DBAPIError):
        session.commit()


def test_many_old_entries_go_in_steps(session) -> None:
    old = [{"action": "sign_in", "datetime": now() - dt.timedelta(days=400)} for _ in range(1203)]
    session.execute(sa.insert(AuditEntry), old)
    session.commit()
    assert delete_old_entries(session(), 365) == 1203
    assert ids(session) == []


def test_entries_outlive_their_account(session, settings, bob) -> None:
    record(session, "api_key.created", account=bob)
    bob.deleted_datetime = now() - dt.timedelta(days=31)
    session.commit()
    user_id = bob.id
    session.expunge_all()
    assert purge(session(), settings) == 1
    found = session.execute(
        sa.select(AuditEntry.action, AuditEntry.account_email).where(AuditEntry.account_id == user_id)
    ).all()
    assert [tuple(row) for row in found] == [
        ("user.created", "bob@example.com"),
        ("api_key.created", "bob@example.com"),
        ("user.purged", "bob@example.com"),
    ]
    db.session.rollback()
