"""Statistics from a real streaming replica: never a write, never late without a word, and never an error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from app.analytics.ingest import Ingest
from app.core.config import Settings, load_settings
from app.core.postgresql import limit_waiting
from app.core.replica import FIRST, READS, Replica
from app.core.secret_keys.ring import SecretKeys, use_keys
from app.journal import segments
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from app.operations.checks.servers import servers_check
from app.web.figures import find_replica
from tests import postgres
from tests.analytics.conftest import take_in
from tests.clients import Api
from tests.dashboard.conftest import Desk
from tests.migrations import environ
from tests.postgres_replica import PostgresReplica

pytestmark = [pytest.mark.full, pytest.mark.parametrize("database", ["postgresql"], indirect=True)]
AWAY = "postgresql+psycopg://waypost@127.0.0.1:1/nothing"
NOT_YET = "are not in these figures yet"


@pytest.fixture(scope="module")
def standby() -> Iterator[PostgresReplica]:
    with postgres.started():
        standby = PostgresReplica()
    try:
        yield standby.start()
    finally:
        standby.remove()


@pytest.fixture
def settings(data_dir: Path, database_url: str, standby: PostgresReplica) -> Settings:
    """The settings of an instance with a replica, which has all that is there so far."""
    standby.catch_up()
    name = database_url.partition("?")[0].rpartition("/")[2]
    found = load_settings(environ(data_dir, database_url, CLICKS_READ_URL=standby.address(name)))
    use_keys(SecretKeys(found.secret_key, found.secret_key_old, found.secret_key_dir))
    return found


@pytest.fixture
def replica(app: Flask) -> Iterator[Replica]:
    with app.app_context():
        found = find_replica()
    assert found is not None
    yield found
    found.engine.dispose()


@pytest.fixture
def click(settings: Settings) -> Iterator[Callable[..., None]]:
    """`click(link, 3)`: three clicks on a link of alice, ingested; the first of them a minute old."""
    journal, ingest = Journal(segments.directory_of(settings.data_dir)), Ingest(settings)
    begin = int(time.time() * 1000) - 60_000

    def write(link: Any, count: int) -> None:
        for number in range(count):
            visit = Visit(begin + number, link.id, link.user_id, 0, visitor=f"v{number}", country_code="DE")
            assert journal.append(encode(visit))
        take_in(ingest)

    yield write
    ingest.close()
    journal.close()


@pytest.fixture
def link(alice: Any, make_link: Callable[..., Any], session: Any, standby: PostgresReplica) -> Any:
    found = make_link(alice, "a")
    session.commit()
    standby.catch_up()
    return found


def pageviews(api: Api) -> int:
    answer = api.get("/statistics")
    assert answer.status_code == 200
    return sum(row["pageviews"] for row in answer.json["data"])


@pytest.mark.usefixtures("replica")
def test_figures_come_from_the_replica_and_say_what_they_lack(
    api: Api, desk: Desk, link: Any, click: Callable[..., None], standby: PostgresReplica
) -> None:
    click(link, 3)
    standby.catch_up()
    assert pageviews(api) == 3
    assert NOT_YET not in desk.get("/statistics/").text
    standby.pause()
    try:
        click(link, 2)
        assert pageviews(api) == 3
        for path in ("/statistics/", f"/links/{link.id}/statistics/"):
            assert NOT_YET in desk.get(path).text
        for path in (
            "/statistics/?whole=1",
            "/statistics/?period=realtime&whole=1",
            "/links/",
            "/statistics/list/links",
        ):
            assert desk.get(path).status_code == 200
        assert api.get("/statistics/clicks").text.count("\n") == 1 + 3
    finally:
        standby.resume()
    standby.catch_up()
    assert pageviews(api) == 5
    assert NOT_YET not in desk.get("/statistics/").text
    assert api.get("/statistics/clicks").text.count("\n") == 1 + 5


def test_doctor_tells_how_the_replica_is(
    app: Flask, settings: Settings, link: Any, click: Callable[..., None], standby: PostgresReplica
) -> None:
    with app.app_context():
        assert [each.level for each in servers_check(settings)] == ["ok"]
        standby.pause()
        try:
            click(link, 1)
            [late] = servers_check(settings)
        finally:
            standby.resume()
        away = replace(settings, clicks_read_url=f"{settings.database_url}_away", database_direct_url=AWAY)
        direct, gone = servers_check(away)
    assert (late.level, direct.level, gone.level) == ("warning", "problem", "warning")
    assert "clicks of the last 6" in late.detail


def test_nothing_can_be_written_there(replica: Replica, session: Any) -> None:
    with replica.engine.connect() as connection:
        assert connection.scalar(text("SHOW transaction_read_only")) == "on"
        assert connection.scalar(text("SHOW transaction_isolation")) == "repeatable read"
        with pytest.raises(DBAPIError, match="read-only"):
            connection.execute(text("DELETE FROM clicks.click"))


@pytest.mark.parametrize("fault", ["stop", "freeze"])
def test_without_the_replica_the_database_answers(
    fault: str,
    api: Api,
    desk: Desk,
    link: Any,
    click: Callable[..., None],
    standby: PostgresReplica,
    replica: Replica,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    click(link, 3)
    standby.catch_up()
    assert pageviews(api) == 3
    getattr(standby, fault)()
    try:
        click(link, 1)
        began = time.monotonic()
        assert pageviews(api) == 4
        assert time.monotonic() - began < 3 * (FIRST.silence or 0)
        assert replica.is_down
        began = time.monotonic()
        page = desk.get("/statistics/?whole=1")
        assert (page.status_code, NOT_YET in page.text) == (200, False)
        assert api.get("/statistics/clicks").text.count("\n") == 1 + 4
        assert time.monotonic() - began < 5
    finally:
        if fault == "freeze":
            standby.thaw()
        else:
            standby.restart()
    monkeypatch.setattr(replica, "_down_until", 0.0)
    standby.catch_up()
    assert pageviews(api) == 4
    assert not replica.is_down


def test_a_frozen_replica_is_given_up_in_the_middle_of_an_answer(
    replica: Replica, standby: PostgresReplica
) -> None:
    limit_waiting(replica.engine, replace(READS, silence=0.5))
    with replica.engine.connect() as connection:
        connection.execute(text("SELECT 1"))
        standby.freeze()
        try:
            with pytest.raises(DBAPIError):
                connection.execute(text("SELECT 1"))
        finally:
            standby.thaw()


def test_a_replica_without_the_tables_is_no_error(
    api: Api, link: Any, click: Callable[..., None], standby: PostgresReplica, replica: Replica
) -> None:
    """As while it waits for a migration that the database has had."""
    click(link, 3)
    replica.engine.dispose()
    replica.engine = create_engine(standby.address("postgres").replace("postgresql", "postgresql+psycopg", 1))
    assert pageviews(api) == 3
    assert replica.is_down
