"""Audit entries: nothing changes or deletes one but retention, and no flood of failures fills the database."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
import time_machine
from flask.testing import FlaskClient
from sqlalchemy.exc import DBAPIError

from app.accounts.deletion.purging import purge
from app.accounts.models import User
from app.audit import failures
from app.audit.failures import MAX_GROUPS, FailureLog, flush_at_exit
from app.audit.models import AuditEntry, AuditRetention
from app.audit.services import delete_old_entries, record
from app.core.clock import now
from app.core.extensions import db
from tests.accounts.test_sign_in import sign_in
from tests.clients import Api


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


@pytest.mark.databases
@pytest.mark.parametrize("name", FORBIDDEN)
def test_the_database_refuses(session, make_entry, name: str) -> None:
    made = make_entry()
    with pytest.raises(DBAPIError, match="append-only"):
        session.execute(sa.text(FORBIDDEN[name]))
    assert ids(session) == [made]


@pytest.mark.databases
def test_a_table_is_not_emptied_at_once(session, make_entry, database: str) -> None:
    if database == "sqlite":
        pytest.skip("SQLite has no TRUNCATE")
    made = make_entry(days_ago=5000)
    with pytest.raises(DBAPIError, match="append-only"):
        session.execute(sa.text("TRUNCATE audit_entry"))
    assert ids(session) == [made]


@pytest.mark.databases
def test_retention_deletes_what_is_older_than_the_setting(session, make_entry) -> None:
    old = [make_entry(days_ago) for days_ago in (5000, 366, 365.001)]
    young = [make_entry(days_ago) for days_ago in (364.9, 30, 0)]
    assert delete_old_entries(session(), 365) == len(old)
    assert ids(session) == young
    assert delete_old_entries(session(), 60) == 1
    assert ids(session) == young[1:]


@pytest.mark.databases
def test_what_retention_protects_nobody_else_deletes(session, make_entry) -> None:
    delete_old_entries(session(), 365)
    made = make_entry(364)
    with pytest.raises(DBAPIError, match="append-only"):
        session.execute(sa.text("DELETE FROM audit_entry"))
    assert ids(session) == [made]


@pytest.mark.databases
def test_no_setting_protects_for_less_than_a_month(session) -> None:
    session.add(AuditRetention(days=29))
    with pytest.raises(DBAPIError):
        session.commit()


@pytest.mark.databases
def test_many_old_entries_go_in_steps(session) -> None:
    old = [{"action": "sign_in", "datetime": now() - dt.timedelta(days=400)} for _ in range(1203)]
    session.execute(sa.insert(AuditEntry), old)
    session.commit()
    assert delete_old_entries(session(), 365) == 1203
    assert ids(session) == []


@pytest.mark.databases
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


FAILED = "sign_in.failed"
COLUMNS = (
    AuditEntry.account_id,
    AuditEntry.network,
    AuditEntry.changes["reason"].as_string(),
    AuditEntry.count,
)


def found(session, *columns, action: str = FAILED) -> list[tuple]:
    session.rollback()
    rows = session.execute(
        sa.select(*(columns or COLUMNS)).where(AuditEntry.action == action).order_by(AuditEntry.id)
    )
    return [tuple(row) for row in rows]


def total(session) -> int:
    return sum(count for (count,) in found(session, AuditEntry.count))


@pytest.fixture
def log(session) -> Iterator[FailureLog]:
    made = FailureLog(db.engine)
    yield made
    made.close()


@pytest.mark.databases
def test_equal_failures_are_one_entry_and_a_count(session, alice: User, log: FailureLog) -> None:
    with time_machine.travel(now(), tick=False) as clock:
        for _ in range(1000):
            log.note(FAILED, alice, "203.0.113.0/24", "wrong_password")
        assert found(session) == [(alice.id, "203.0.113.0/24", "wrong_password", 1)]
        clock.shift(dt.timedelta(minutes=10))
        log.flush_closed()
    assert found(session)[1:] == [(alice.id, "203.0.113.0/24", "wrong_password", 999)]


def test_a_flood_from_many_networks_is_bounded_and_counted(session, alice: User, log: FailureLog) -> None:
    with time_machine.travel(now(), tick=False) as clock:
        for number in range(1000):
            log.note(FAILED, alice, f"10.{number // 256}.{number % 256}.0/24", "wrong_password")
        clock.shift(dt.timedelta(minutes=10))
        log.flush_closed()
    rows = found(session)
    assert len(rows) <= MAX_GROUPS + 2
    assert total(session) == 1000
    assert (alice.id, "", "wrong_password") in {row[:3] for row in rows}


class Nobody:
    """One of the accounts of a flood."""

    def __init__(self, number: int) -> None:
        self.id, self.email = number, f"user{number}@example.com"


def test_a_flood_at_many_accounts_is_bounded_and_counted(session, log: FailureLog) -> None:
    with time_machine.travel(now(), tick=False) as clock:
        for number in range(1, 601):
            log.note(FAILED, Nobody(number), f"10.{number // 256}.{number % 256}.0/24", "wrong_password")
        clock.shift(dt.timedelta(minutes=10))
        log.flush_closed()
    assert len(found(session)) <= 2 * MAX_GROUPS + 2
    assert total(session) == 600
    assert (None, "", "many") in {row[:3] for row in found(session)}


def test_a_day_has_room_for_so_many_entries(
    session, log: FailureLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "MAX_ENTRIES_A_DAY", 10)
    with time_machine.travel(now(), tick=False) as clock:
        for _ in range(30):
            for number in range(5):
                log.note(FAILED, None, f"10.0.{number}.0/24", "unknown_account")
            clock.shift(dt.timedelta(minutes=11))
        log.flush_closed()
    networks = [network for _, network, _, _ in found(session)]
    assert len([network for network in networks if network]) <= 15
    assert len(networks) <= 15 + 2 * 30
    assert total(session) == 150


def test_what_the_database_does_not_take_is_written_later(
    session, settings, alice: User, log: FailureLog
) -> None:
    session.commit()
    with time_machine.travel(now(), tick=False) as clock:
        with sqlite3.connect(settings.data_dir / "main.db", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            for _ in range(5):
                log.note(FAILED, alice, "203.0.113.0/24", "wrong_password")
            other.execute("ROLLBACK")
        assert found(session) == []
        clock.shift(failures.RETRY)
        log.note(FAILED, alice, "198.51.100.0/24", "wrong_password")
        clock.shift(dt.timedelta(minutes=10))
        log.flush_closed()
    assert total(session) == 6


def test_what_is_counted_is_written_at_the_end(session, alice: User, log: FailureLog) -> None:
    for _ in range(7):
        log.note(FAILED, alice, "203.0.113.0/24", "wrong_code")
    flush_at_exit(log.engine, log.counts)
    assert [row[-1] for row in found(session)] == [1, 6]


def test_a_log_that_is_closed_has_nothing_left_to_write(session, alice: User, log: FailureLog) -> None:
    """Closing writes the counts, and leaves nothing to write when the process ends."""
    for _ in range(3):
        log.note(FAILED, alice, "203.0.113.0/24", "wrong_code")
    log.close()
    assert [row[-1] for row in found(session)] == [1, 2]
    assert (log.counts, log.ends, log.timer) == ({}, {}, None)
    assert not log._flush_at_exit.still_active()


def test_the_sign_in_page_tells_account_and_reason(
    client: FlaskClient, alice: User, bob: User, session
) -> None:
    bob.disabled_datetime = now()
    session.commit()
    typed = "hunter2-typed-into-the-wrong-field@example.com"
    sign_in(client, password="wrong one", environ={"REMOTE_ADDR": "203.0.113.77"})
    sign_in(client, typed, password="wrong one", environ={"REMOTE_ADDR": "2001:db8:1:2::3"})
    sign_in(client, bob.email, environ={"REMOTE_ADDR": "203.0.113.77"})
    for _ in range(15):
        last = sign_in(client, password="wrong one", environ={"REMOTE_ADDR": "198.51.100.9"})
    assert last.status_code == 429
    assert set(found(session)) == {
        (alice.id, "203.0.113.0/24", "wrong_password", 1),
        (None, "2001:db8:1::/48", "unknown_account", 1),
        (bob.id, "203.0.113.0/24", "disabled_or_deleted", 1),
        (alice.id, "198.51.100.0/24", "wrong_password", 1),
        (alice.id, "198.51.100.0/24", "too_many_tries", 1),
    }
    everything = session.execute(sa.text("SELECT * FROM audit_entry")).all()
    assert typed not in str(everything)
    assert "203.0.113.77" not in str(everything)


def test_a_wrong_api_key_is_told_without_the_key(client: FlaskClient, session) -> None:
    key = "wp_" + "a" * 36
    assert Api(client, key).get("/api/links").status_code == 401
    assert found(session, action="api_key.refused") == [(None, "127.0.0.0/24", "wrong_key", 1)]
