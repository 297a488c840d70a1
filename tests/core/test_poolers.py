"""A real server and its ingest through a real PgBouncer in transaction mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import psycopg
import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.orm import Session

from app import create_app
from app.analytics import engine as clicks
from app.analytics.ingest import Ingest
from app.core.config import Settings, load_settings
from app.core.database import begin_read, engine_options, prepare_engine
from app.core.extensions import db
from app.core.poolers import suit_pooler
from app.journal import segments
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from app.operations.checks.servers import servers_check
from app.redirects import limits, reader
from tests import postgres
from tests.crowds import Owner, visit_at_once
from tests.migrations import environ
from tests.pages import Person
from tests.pgbouncer import PgBouncer
from tests.server import Server, wait_for

THERE = "https://example.com/there"
pytestmark = [pytest.mark.full, pytest.mark.parametrize("database", ["postgresql"], indirect=True)]


def name_of(database_url: str) -> str:
    return urlsplit(database_url).path.lstrip("/")


@pytest.fixture
def pooled(settings: Settings, database_url: str, pgbouncer: PgBouncer) -> Settings:
    """The settings of an instance behind PgBouncer."""
    values = {"DATABASE_DIRECT_URL": database_url}
    return load_settings(environ(settings.data_dir, pgbouncer.address(name_of(database_url)), **values))


@pytest.fixture
def engines(pooled: Settings) -> Iterator[dict[str, Engine]]:
    made = {
        "pages": create_engine(pooled.database_url, **engine_options(pooled)),
        "cold links": create_engine(pooled.database_url, **reader.options(pooled, 4)),
    }
    for engine in made.values():
        prepare_engine(engine, pooled)
    made |= {"limited links": limits.open_engine(pooled), "ingest": clicks.open_engine(pooled)}
    yield made
    for engine in made.values():
        engine.dispose()


def test_timeouts_hold_in_each_transaction_and_none_is_left_behind(engines: dict[str, Engine]) -> None:
    for engine, wanted in (("ingest", "1s"), ("limited links", "2s")):
        for _ in range(12):
            with engines[engine].begin() as connection:
                assert connection.scalar(text("SHOW lock_timeout")) == wanted
            with engines["pages"].begin() as connection:
                assert connection.scalar(text("SHOW lock_timeout")) == "0"


def test_statements_that_come_often_are_not_prepared(engines: dict[str, Engine]) -> None:
    """A prepared statement is known to one server connection only, and the next transaction has another."""
    for name, engine in engines.items():
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _, engine=engine: ask_often(engine), range(8)))
        assert found == [20] * 8, name


def ask_often(engine: Engine) -> int:
    total = 0
    for number in range(20):
        with engine.begin() as connection:
            total += (
                connection.execute(text("SELECT CAST(:n AS int) + 1"), {"n": number}).scalar_one() - number
            )
    return total


def test_the_timeouts_of_a_connection_are_those_of_its_options(engines: dict[str, Engine]) -> None:
    engine = create_engine(
        engines["pages"].url, connect_args={"options": "-c lock_timeout=7s -c statement_timeout=5000"}
    )
    suit_pooler(engine)
    with engine.begin() as connection:
        assert connection.scalar(text("SHOW lock_timeout")) == "7s"
        assert connection.scalar(text("SHOW statement_timeout")) == "5s"
    engine.dispose()


def test_the_ingest_counts_each_click_once(pooled: Settings) -> None:
    journal = Journal(segments.directory_of(pooled.data_dir))
    for number in range(500):
        assert journal.append(
            encode(Visit(1_795_000_000_000 + number, 1 + number % 3, 1, 0, visitor=f"v{number}"))
        )
    journal.close()
    ingests = [Ingest(pooled) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(until_done, ingests))
    for each in ingests:
        each.close()
    with psycopg.connect(pooled.session_url.replace("+psycopg", "")) as connection:
        counters = connection.execute("SELECT * FROM clicks.counter ORDER BY 1").fetchall()
        rows = connection.execute("SELECT count(*) FROM clicks.click").fetchall()
    assert (counters, rows) == ([(1, 167), (2, 167), (3, 166)], [(500,)])


def until_done(ingest: Ingest) -> None:
    idle = 0
    while idle < 5:
        idle = 0 if ingest.step() else idle + 1
    ingest.tend()


def test_doctor_compares_both_addresses(pooled: Settings, database_url: str) -> None:
    app = create_app(pooled)
    with app.app_context():
        assert [each.level for each in servers_check(pooled)] == ["ok"]
        other = replace(
            pooled, database_direct_url=pooled.session_url.replace(name_of(database_url), "postgres")
        )
        [finding] = servers_check(other)
        assert "another database" in finding.detail
        db.session.remove()
        db.engine.dispose()
    app.extensions["visits"].close()


def test_a_server_works_through_it(
    make_server: Callable[..., Server], pgbouncer: PgBouncer, database_url: str
) -> None:
    """From migrations to figures: everything that an owner and visitors do in a day."""
    name = f"pooled_{name_of(database_url)}"
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        urls = {"DATABASE_URL": pgbouncer.address(name), "DATABASE_DIRECT_URL": postgres.address(name)}
        use(make_server(PROCESSES="2", **urls))
        with psycopg.connect(postgres.address(name)) as direct:
            left = direct.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()
        assert left == (0,)
    finally:
        with postgres.connect() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def use(server: Server) -> None:
    owner = Owner(server)
    links = [owner.make_link(url=f"a{number}", location_url=THERE) for number in range(30)]
    limited = owner.make_link(url="limited", location_url=THERE, clicks_limit=25)
    for number in (0, 1):
        assert visit_at_once(server.port, f"/a{number}", 100) == {(302, THERE): 100}
    assert visit_at_once(server.port, "/limited", 60) == Counter({(302, THERE): 25, (410, ""): 35})
    assert owner.clicks(limited) == 25
    wait_for(lambda: [owner.clicks(each) for each in links[:3]] == [100, 100, 0], "the clicks")
    wait_for(lambda: pageviews(owner) == 225, "the statistics")
    with Person(server.url) as person:
        page = person.open("/dashboard/")
        signed_in = person.send_form(
            page, "/login", email="owner@example.com", password="five small boats go upriver"
        )
        assert "/dashboard" in signed_in.url
        for path in ("/dashboard/links/", f"/dashboard/links/{links[0]}/statistics/?whole=1") * 5:
            assert person.open(path).status_code == 200
    for path in ("/readyz",) * 10:
        assert server.status(path) == 200
    assert "Traceback" not in server.written()
    server.stop()


def pageviews(owner: Owner) -> int:
    rows = owner.session.get(f"{owner.site}/statistics", timeout=30).json()["data"]
    return sum(row["pageviews"] for row in rows)


def test_a_read_of_figures_has_one_snapshot(engines: dict[str, Engine]) -> None:
    with Session(engines["pages"]) as session:
        for _ in range(6):
            begin_read(session)
            assert session.scalar(text("SHOW transaction_isolation")) == "repeatable read"
            session.rollback()
            assert session.scalar(text("SHOW transaction_isolation")) == "read committed"
            session.rollback()
