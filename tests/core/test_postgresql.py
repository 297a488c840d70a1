"""Limits of waiting for PostgreSQL: the client's own, the server's, and what a pooler leaves of them."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import click
import psycopg
import pytest
from sqlalchemy import Engine, create_engine, make_url, text
from sqlalchemy.exc import OperationalError

from app.core.config import Settings
from app.core.database import is_outage, prepare_engine
from app.core.patience import COMMANDS, PAGES, VISITS, Patience
from app.core.postgresql import limit_waiting
from app.core.wakeups import Carrier, CarrierDown
from app.operations.backups.postgres import require_no_pooler
from tests import postgres
from tests.crowds import Owner, visit_at_once
from tests.pgbouncer import PgBouncer
from tests.server import Server, wait_for
from tests.tcp_proxy import TcpProxy

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)

NAMES = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
SLEEP = text("SELECT pg_sleep(30)")
THERE = "https://example.com/there"
MakeEngine = Callable[..., Engine]


@pytest.fixture
def make_engine(settings: Settings) -> Iterator[MakeEngine]:
    made: list[Engine] = []

    def make(patience: Patience, url: str = settings.database_url) -> Engine:
        made.append(create_engine(url))
        prepare_engine(made[-1], settings, patience=patience)
        return made[-1]

    yield make
    for engine in made:
        engine.dispose()


@pytest.fixture
def postgres_proxy() -> Iterator[TcpProxy]:
    proxy = TcpProxy(f"{os.environ[postgres.DIRECTORY]}/.s.PGSQL.5432")
    yield proxy
    proxy.stop()


@pytest.fixture
def pooled_url(settings: Settings, pgbouncer: PgBouncer) -> str:
    return pgbouncer.address(name_of(settings.database_url)).replace("postgresql:", "postgresql+psycopg:")


def name_of(database_url: str) -> str:
    return urlsplit(database_url).path.lstrip("/")


def limits_of(engine: Engine, **options: str) -> list[str]:
    with engine.connect().execution_options(**options) as connection:
        return [str(connection.scalar(text(f"SHOW {name}"))) for name in NAMES]


def test_each_connection_has_its_limits(make_engine: MakeEngine) -> None:
    engine = make_engine(COMMANDS)
    assert limits_of(engine) == ["0", "0", "1h"]
    limit_waiting(engine, PAGES)
    for level in ({}, {"isolation_level": "REPEATABLE READ"}, {"isolation_level": "AUTOCOMMIT"}):
        assert limits_of(engine, **level) == ["18s", "10s", "1min"]


def test_a_statement_that_takes_too_long_is_no_outage(make_engine: MakeEngine) -> None:
    engine = make_engine(replace(PAGES, statement=0.2))
    with engine.connect() as connection:
        with pytest.raises(OperationalError, match="statement timeout") as refused:
            connection.execute(SLEEP)
        assert not is_outage(refused.value)
        connection.rollback()
        assert connection.scalar(text("SELECT 1")) == 1, "the connection is of use"


def test_a_lock_is_waited_for_so_long(make_engine: MakeEngine) -> None:
    engine = make_engine(replace(PAGES, lock=0.1))
    with engine.begin() as holder, engine.begin() as other:
        holder.execute(text("LOCK TABLE link IN ACCESS EXCLUSIVE MODE"))
        with pytest.raises(OperationalError) as refused:
            other.execute(text("SELECT 1 FROM link"))
    assert isinstance(refused.value.orig, psycopg.errors.LockNotAvailable)


def test_silence_ends_the_wait_and_the_connection(make_engine: MakeEngine) -> None:
    engine = make_engine(replace(VISITS, silence=0.3, statement=None))
    began = time.monotonic()
    with engine.connect() as connection:
        with pytest.raises(OperationalError, match="no answer in time") as silent:
            connection.execute(SLEEP)
        assert time.monotonic() - began < 5
        assert silent.value.connection_invalidated
        assert is_outage(silent.value)


def test_a_server_that_accepts_and_never_answers(make_engine: MakeEngine, postgres_proxy: TcpProxy) -> None:
    """Both for a connection that is open and for a new one. Later all is as before."""
    url = make_url(make_engine(PAGES).url).set(host="127.0.0.1", port=postgres_proxy.port, query={})
    engine = make_engine(replace(PAGES, silence=0.5, connect=2), url)
    assert limits_of(engine)
    postgres_proxy.hold()
    for _ in range(2):
        began = time.monotonic()
        with pytest.raises(OperationalError) as silent:
            limits_of(engine)
        assert is_outage(silent.value)
        assert time.monotonic() - began < 5
    postgres_proxy.go_on()
    assert limits_of(engine)


@pytest.mark.full
def test_through_pgbouncer_nothing_is_left_to_a_session(make_engine: MakeEngine, pooled_url: str) -> None:
    """Neither limits, which others would get, nor prepared statements, which the next server does not know."""
    engines = [make_engine(patience, pooled_url) for patience in (PAGES, VISITS)]
    for engine in engines:
        assert limits_of(engine) == ["0", "0", "0"]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda _, engine=engine: ask_often(engine), range(8))) == [20] * 8


def ask_often(engine: Engine) -> int:
    total = 0
    for number in range(20):
        with engine.begin() as connection:
            added = text("SELECT CAST(:n AS int) + 1")
            total += connection.execute(added, {"n": number}).scalar_one() - number
    return total


@pytest.mark.full
def test_what_needs_a_session_says_so_behind_pgbouncer(settings: Settings, pooled_url: str) -> None:
    with pytest.raises(CarrierDown, match="pooler"):
        Carrier(pooled_url).subscribe()
    with pytest.raises(click.ClickException, match="PostgreSQL's own address"):
        require_no_pooler(make_url(pooled_url))
    require_no_pooler(make_url(settings.database_url))


@pytest.mark.full
def test_a_server_works_through_pgbouncer(
    make_server: Callable[..., Server], pgbouncer: PgBouncer, database_url: str
) -> None:
    """From migrations to figures."""
    name = f"pooled_{name_of(database_url)}"
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        server = make_server(PROCESSES="2", DATABASE_URL=pgbouncer.address(name))
        owner = Owner(server)
        links = [owner.make_link(url=f"a{number}", location_url=THERE) for number in range(3)]
        limited = owner.make_link(url="limited", location_url=THERE, clicks_limit=25)
        for number in (0, 1):
            assert visit_at_once(server.port, f"/a{number}", 100) == {(302, THERE): 100}
        assert visit_at_once(server.port, "/limited", 60) == Counter({(302, THERE): 25, (410, ""): 35})
        assert owner.clicks(limited) == 25
        wait_for(lambda: [owner.clicks(each) for each in links] == [100, 100, 0], "the clicks")
        wait_for(lambda: pageviews(owner) == 225, "the statistics")
        assert [server.status("/readyz") for _ in range(10)] == [200] * 10
        assert "Traceback" not in server.written()
        server.stop()
        with psycopg.connect(postgres.address(name)) as direct:
            left = direct.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()
        assert left == (0,)
    finally:
        with postgres.connect() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def pageviews(owner: Owner) -> int:
    rows = owner.session.get(f"{owner.site}/statistics", timeout=30).json()["data"]
    return sum(row["pageviews"] for row in rows)
