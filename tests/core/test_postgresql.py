"""Limits of waiting for PostgreSQL: the client's own, those of each transaction, and what a silence leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import psycopg
import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from app.core.config import Settings
from app.core.database import is_outage, prepare_engine
from app.core.patience import COMMANDS, DIAGNOSIS, PAGES, VISITS, Patience, outage
from app.core.postgresql import limit_waiting
from app.core.postgresql_connection import Connection, Silent
from tests.server import wait_for

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)

NAMES = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
SLEEP = text("SELECT pg_sleep(30)")
MakeEngine = Callable[[Patience], Engine]


@pytest.fixture
def make_engine(settings: Settings) -> Iterator[MakeEngine]:
    made: list[Engine] = []

    def make(patience: Patience) -> Engine:
        made.append(create_engine(settings.database_url))
        prepare_engine(made[-1], settings, patience=patience)
        return made[-1]

    yield make
    outage.end()
    for engine in made:
        engine.dispose()


def limits_of(engine: Engine, **options: str) -> list[str]:
    with engine.connect().execution_options(**options) as connection:
        return [str(connection.scalar(text(f"SHOW {name}"))) for name in NAMES]


@pytest.mark.parametrize("level", [{}, {"isolation_level": "REPEATABLE READ"}], ids=["usual", "one snapshot"])
def test_each_transaction_has_its_limits(make_engine: MakeEngine, level: dict[str, str]) -> None:
    engine = make_engine(PAGES)
    assert [limits_of(engine, **level) for _ in range(2)] == [["30s", "10s", "1min"]] * 2


def test_nothing_is_left_on_a_connection_that_others_may_get(make_engine: MakeEngine) -> None:
    """As PgBouncer hands it on between transactions."""
    engine = make_engine(PAGES)
    limits_of(engine)
    assert limits_of(engine, isolation_level="AUTOCOMMIT") == ["0", "0", "0"]


def test_commands_have_all_the_time_they_need(make_engine: MakeEngine) -> None:
    assert limits_of(make_engine(COMMANDS)) == ["0", "0", "1h"]


def test_they_hold_for_many_rows_at_once(make_engine: MakeEngine, settings: Settings) -> None:
    """`executemany` sends them in a pipeline, which takes no two commands in one message."""
    engine = make_engine(PAGES)
    raw = engine.raw_connection()
    cursor = raw.cursor()
    cursor.executemany("SELECT %s::int", [(1,), (2,)], returning=True)  # type: ignore[call-arg]
    cursor.execute("SHOW lock_timeout")
    assert cursor.fetchone() == ("10s",)
    raw.close()


def test_limits_are_changed_for_all_connections(make_engine: MakeEngine) -> None:
    engine = make_engine(COMMANDS)
    limits_of(engine)
    limit_waiting(engine, PAGES)
    assert limits_of(engine) == ["30s", "10s", "1min"]


def test_the_limits_of_the_system(make_engine: MakeEngine) -> None:
    with make_engine(PAGES).connect() as connection:
        driver = connection.connection.dbapi_connection
        assert isinstance(driver, Connection)
        found = driver.info.get_parameters()
        asked = driver.pgconn.info
    assert found["connect_timeout"] == "3"
    kept = {each.keyword.decode(): each.val for each in asked}
    assert kept["tcp_user_timeout"] == b"15000"
    assert kept["keepalives_idle"] == b"10"


def test_a_statement_that_takes_too_long_is_no_outage(make_engine: MakeEngine) -> None:
    engine = make_engine(replace(PAGES, statement=0.2))
    with engine.connect() as connection:
        with pytest.raises(OperationalError, match="statement timeout") as refused:
            connection.execute(SLEEP)
        assert not is_outage(refused.value)
        connection.rollback()
        assert connection.scalar(text("SELECT 1")) == 1, "the connection is of use"


def test_silence_ends_the_wait_and_the_connection(make_engine: MakeEngine, settings: Settings) -> None:
    """What the server still does for it is ended too."""
    engine = make_engine(replace(VISITS, silence=0.3))
    began = time.monotonic()
    with engine.connect() as connection:
        with pytest.raises(OperationalError, match="no answer in time") as silent:
            connection.execute(SLEEP)
        assert time.monotonic() - began < 5
        assert isinstance(silent.value.orig, Silent)
        assert silent.value.connection_invalidated
        assert is_outage(silent.value)
    assert not outage.is_on, "a look-up is no proof that the server hangs"
    running = text("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'")
    patient = make_engine(PAGES)

    def has_ended() -> bool:
        with patient.connect() as connection:
            return connection.scalar(running) == 0

    wait_for(has_ended, "the end of the statement")


def test_in_an_outage_nothing_is_asked(make_engine: MakeEngine) -> None:
    pages = make_engine(PAGES)
    limits_of(pages)  # its pool has a connection now
    doctor = make_engine(replace(DIAGNOSIS, silence=0.3))
    with pytest.raises(OperationalError), doctor.connect() as connection:
        connection.execute(SLEEP)
    assert outage.is_on
    for engine in (pages, doctor):
        for _ in range(2):
            with pytest.raises(DBAPIError, match="a moment ago"):
                limits_of(engine)
    outage.end()
    assert limits_of(pages) == ["30s", "10s", "1min"]


def test_who_waits_when_an_outage_begins_waits_no_longer(make_engine: MakeEngine) -> None:
    with make_engine(PAGES).connect() as connection:
        driver = connection.connection.dbapi_connection
        assert isinstance(driver, Connection)
        steps = driver.within(iter_forever())
        next(steps)
        assert steps.send(0) is None
        outage.begin()
        with pytest.raises(Silent):
            steps.send(0)


def iter_forever() -> Iterator[None]:
    while True:
        yield


def test_a_lock_is_waited_for_so_long(make_engine: MakeEngine) -> None:
    engine = make_engine(replace(PAGES, lock=0.1))
    with engine.begin() as holder, engine.begin() as other:
        holder.execute(text("LOCK TABLE link IN ACCESS EXCLUSIVE MODE"))
        with pytest.raises(OperationalError) as refused:
            other.execute(text("SELECT 1 FROM link"))
    assert isinstance(refused.value.orig, psycopg.errors.LockNotAvailable)
