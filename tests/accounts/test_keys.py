"""API keys: only active ones are found, and storing their last use holds up no request."""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import re
import sqlite3
from pathlib import Path

import pytest
import time_machine
from flask import Flask
from sqlalchemy import event, text

from app.accounts import keys
from app.accounts.models import ApiKey, User
from app.accounts.workspaces import access_of
from app.core import clock
from app.core.database import begin_write
from app.core.extensions import db

MINUTE = dt.timedelta(minutes=1)


def test_a_key_is_a_prefix_thirty_characters_and_a_checksum() -> None:
    assert re.fullmatch(r"wp_[0-9A-Za-z]{36}", keys.new_text())
    assert keys.checksum("0" * 30) == "2C8GjS"
    assert len({keys.new_text() for _ in range(1000)}) == 1000


def test_each_mistyped_character_is_noticed_without_a_look_up(app: Flask) -> None:
    key = keys.new_text()
    swapped = [key[:i] + ("a" if key[i] != "a" else "b") + key[i + 1 :] for i in range(3, len(key))]
    assert not any(
        keys.is_whole(text)
        for text in [*swapped, key[:-1], key + "0", key.upper(), "", "wp_", " " + key, key + "\n"]
    )
    assert keys.find_key(swapped[5]) is None  # works without an application context: nothing was looked up


class TestFinding:
    @pytest.mark.databases
    def test_a_key_is_found_with_its_user_in_one_query(self, app: Flask, alice: User, make_key) -> None:
        _, text = make_key(alice, "read")
        with app.app_context():
            keys.find_key(text)  # stores the use
            db.session.rollback()
            asked: list[str] = []
            event.listen(db.engine, "before_cursor_execute", lambda *arguments: asked.append(arguments[2]))
            found = keys.find_key(text)
            assert found is not None
            assert (found.user.email, found.scope) == ("alice@example.com", "read")
            assert len([statement for statement in asked if "SELECT" in statement]) == 1

    def test_only_its_digest_and_first_characters_are_stored(self, alice: User, make_key, session) -> None:
        row, key = make_key(alice)
        stored = session.execute(text("SELECT * FROM api_key")).mappings().one()
        assert row.prefix == key[:11]
        assert row.digest == hashlib.sha256(key.encode()).hexdigest()
        assert not [value for value in stored.values() if key[11:20] in str(value)]

    def test_an_unknown_one_is_nobodys(self, alice: User, make_key) -> None:
        make_key(alice)
        assert keys.find_key(keys.new_text()) is None

    def test_a_revoked_one_is_nobodys(self, alice: User, make_key, session) -> None:
        row, key = make_key(alice)
        keys.revoke_key(row)
        session.commit()
        assert keys.find_key(key) is None
        assert keys.state_of(row) == "revoked"

    def test_an_expired_one_is_nobodys_from_that_second_on(self, alice: User, session) -> None:
        now = clock.now()
        row, key = keys.create_key(access_of(alice), "short", expires=now + MINUTE)
        session.commit()
        with time_machine.travel(now + MINUTE - dt.timedelta(seconds=1), tick=False):
            assert (found := keys.find_key(key)) and found.id == row.id
        with time_machine.travel(now + MINUTE, tick=False):
            assert keys.find_key(key) is None
            assert keys.state_of(row) == "expired"

    @pytest.mark.databases
    def test_by_prefix_only_keys_in_force(self, alice: User, make_key, session) -> None:
        first, key = make_key(alice)
        assert keys.unrevoked_like(key[:11]) == [first]
        assert keys.unrevoked_like(key) == [first]
        twin = ApiKey(**access_of(alice).row_columns, name="twin", prefix=first.prefix, digest="0" * 64)
        session.add(twin)
        session.commit()
        assert set(keys.unrevoked_like(key[:11])) == {first, twin}
        assert keys.unrevoked_like(key) == [first]
        keys.revoke_key(first)
        assert keys.unrevoked_like(key[:11]) == [twin]


@pytest.fixture
def used(app: Flask):
    """`used(key)`: looks up this key in an application context of its own; returns its stored last use."""

    def use(key: str) -> dt.datetime | None:
        with app.app_context():
            assert keys.find_key(key) is not None
            db.session.rollback()
            return db.session.query(ApiKey.last_datetime).filter(ApiKey.digest == keys.digest(key)).scalar()

    return use


@pytest.mark.databases
class TestUse:
    def test_it_is_written_at_most_once_a_minute(self, alice: User, make_key, used, session) -> None:
        _, key = make_key(alice)
        session.commit()
        begin = clock.now()
        for seconds, written in [(0, 0), (59, 0), (60, 60), (119, 60), (300, 300)]:
            keys._tried.clear()
            with time_machine.travel(begin + dt.timedelta(seconds=seconds), tick=False):
                assert used(key) == begin + dt.timedelta(seconds=written)

    def test_it_is_not_part_of_what_the_request_does(
        self, app: Flask, alice: User, make_key, used, session
    ) -> None:
        _, key = make_key(alice)
        session.commit()
        with app.app_context():
            keys.find_key(key)
            db.session.rollback()
        assert used(key) is not None

    def test_many_at_once_are_all_answered(self, app: Flask, alice: User, make_key, used, session) -> None:
        from concurrent.futures import ThreadPoolExecutor

        _, key = make_key(alice)
        session.commit()
        with ThreadPoolExecutor(8) as pool:
            assert len(list(pool.map(lambda _: used(key), range(40)))) == 40
        assert used(key) is not None

    def test_a_refused_key_leaves_no_trace(self, app: Flask, alice: User, make_key, session) -> None:
        row, key = make_key(alice)
        keys.revoke_key(row)
        session.commit()
        keys.find_key(key)
        session.refresh(row)
        assert row.last_datetime is None

    def test_while_others_write_it_waits_for_a_later_use_and_says_so(
        self, app: Flask, alice: User, make_key, used, session, caplog: pytest.LogCaptureFixture
    ) -> None:
        row, key = make_key(alice)
        begin_write(session)
        row.name = "being renamed"
        session.flush()  # holds SQLite's only write lock, and on PostgreSQL this row's
        with caplog.at_level(logging.WARNING, keys.log.name):
            assert used(key) is None
        assert f"the last use of API key {row.prefix}" in caplog.text
        assert key not in caplog.text
        session.commit()
        keys._tried.clear()
        assert used(key) is not None


def test_a_connection_goes_back_to_the_pool_with_its_patience(
    app: Flask, alice: User, make_key, used, session
) -> None:
    _, key = make_key(alice)
    session.commit()
    used(key)
    with app.app_context():
        connections = [db.engine.connect() for _ in range(3)]
        assert {c.exec_driver_sql("PRAGMA busy_timeout").scalar() for c in connections} == {10_000}
        for connection in connections:
            connection.close()


def test_a_database_that_takes_no_writes_still_answers(
    app: Flask, data_dir: Path, alice: User, make_key, used, session
) -> None:
    _, key = make_key(alice)
    session.commit()
    holder = sqlite3.connect(data_dir / "main.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert used(key) is None
    finally:
        holder.close()
