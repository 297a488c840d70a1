"""Rate limiter: tries are counted exactly, by all processes together, and no address is written."""

from __future__ import annotations

import logging
import multiprocessing
import stat
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
import time_machine
from redis import RedisError

from app.core.config import Settings, load_settings
from app.core.redis_client import connect
from app.core.secret_keys.ring import SecretKeys, use_keys
from app.rate_limit import postgres_storage
from app.rate_limit.limiter import RateLimiter, at_most, network_of
from tests import postgres
from tests.conftest import environ
from tests.keys import secret_keys
from tests.redis_server import RedisServer
from tests.server import wait_for

LIMIT = at_most(5, minutes=10, name="tries")
NOW = 1_800_000_000.0


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    found = load_settings(environ(data_dir))
    use_keys(SecretKeys(found.secret_key, found.secret_key_old, found.secret_key_dir))
    return found


@pytest.fixture
def rate_limiter(settings: Settings) -> Iterator[RateLimiter]:
    found = RateLimiter(settings)
    yield found
    found.close()


def test_so_many_are_allowed_and_then_one_waits_until_the_first_is_old(rate_limiter: RateLimiter) -> None:
    for seconds in range(5):
        with time_machine.travel(NOW + seconds, tick=False):
            assert rate_limiter.take(LIMIT, "alice") == 0
    with time_machine.travel(NOW + 100, tick=False):
        assert rate_limiter.take(LIMIT, "alice") == 500
    with time_machine.travel(NOW + 600, tick=False):
        assert rate_limiter.take(LIMIT, "alice") == 0
        assert rate_limiter.take(LIMIT, "alice") == 1


def test_a_refused_try_does_not_make_the_wait_longer(rate_limiter: RateLimiter) -> None:
    with time_machine.travel(NOW, tick=False):
        waits = [rate_limiter.take(LIMIT, "alice") for _ in range(10)]
    assert waits == [0] * 5 + [600] * 5


def test_each_is_counted_apart(rate_limiter: RateLimiter) -> None:
    for who in [("alice",), ("bob",), ("alice", "link 1"), ("alice", "link 2"), ("alicelink 1",)]:
        for _ in range(5):
            assert rate_limiter.take(LIMIT, *who) == 0
        assert rate_limiter.take(LIMIT, *who) > 0
    assert rate_limiter.take(at_most(5, minutes=10, name="other"), "alice") == 0


def test_what_is_forgiven_is_forgotten(rate_limiter: RateLimiter) -> None:
    for _ in range(6):
        rate_limiter.take(LIMIT, "alice")
        rate_limiter.take(LIMIT, "bob")
    rate_limiter.reset(LIMIT, "alice")
    assert rate_limiter.take(LIMIT, "alice") == 0
    assert rate_limiter.take(LIMIT, "bob") > 0


def of_redis(settings: Settings, server: RedisServer) -> Settings:
    return replace(settings, redis_url=server.url)


def of_postgres(settings: Settings, template: str) -> Iterator[Settings]:
    name = f"test_{uuid.uuid4().hex}"
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield replace(settings, database_url=postgres.address(name))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["file", "Redis", "PostgreSQL"])
def shared_settings(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Settings]:
    if request.param == "PostgreSQL":
        yield from of_postgres(settings, request.getfixturevalue("postgres_template"))
    elif request.param == "Redis":
        yield of_redis(settings, request.getfixturevalue("redis_server"))
    else:
        yield settings


@pytest.fixture
def either(shared_settings: Settings) -> Iterator[RateLimiter]:
    found = RateLimiter(shared_settings)
    yield found
    assert all(counts.breaker.admits() for counts in found.places), "the shared storage has counted"
    found.close()


@pytest.fixture
def postgres_settings(settings: Settings, postgres_template: str) -> Iterator[Settings]:
    yield from of_postgres(settings, postgres_template)


def test_what_is_given_back_was_no_try(either: RateLimiter) -> None:
    for _ in range(5):
        either.take(LIMIT, "alice")
        either.take(LIMIT, "bob")
    either.give_back(LIMIT, "alice")
    assert [either.take(LIMIT, "alice") > 0 for _ in range(2)] == [False, True]
    assert either.take(LIMIT, "bob") > 0


def test_the_last_one_is_given_back(either: RateLimiter) -> None:
    for seconds in (0, 100):
        with time_machine.travel(NOW + seconds, tick=False):
            either.take(LIMIT, "alice")
    either.give_back(LIMIT, "alice")
    with time_machine.travel(NOW + 300, tick=False):
        assert [either.take(LIMIT, "alice") for _ in range(5)] == [0, 0, 0, 0, 300]


def test_nothing_to_give_back(either: RateLimiter) -> None:
    either.give_back(LIMIT, "alice")
    assert [either.take(LIMIT, "alice") > 0 for _ in range(6)] == [False] * 5 + [True]


def test_many_at_once_are_not_more_than_many_in_a_row(rate_limiter: RateLimiter) -> None:
    with ThreadPoolExecutor(16) as pool:
        waits = list(pool.map(lambda _: rate_limiter.take(LIMIT, "alice"), range(64)))
    assert waits.count(0) == 5


def takes(settings: Settings, count: int) -> int:
    use_keys(SecretKeys(settings.secret_key))
    rate_limiter = RateLimiter(settings)
    allowed = [rate_limiter.take(LIMIT, "alice") for _ in range(count)].count(0)
    rate_limiter.close()
    return allowed


@pytest.mark.full
def test_all_processes_count_together(settings: Settings) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert sum(pool.starmap(takes, [(settings, 10)] * 6)) == 5


def test_a_forked_process_opens_a_file_of_its_own(settings: Settings, rate_limiter: RateLimiter) -> None:
    rate_limiter.take(LIMIT, "alice")
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=lambda: queue.put([rate_limiter.take(LIMIT, "alice") for _ in range(5)]))
    process.start()
    assert queue.get().count(0) == 4
    process.join()
    assert rate_limiter.take(LIMIT, "alice") > 0


def test_no_address_is_written_and_nobody_else_reads_the_counts(
    settings: Settings, rate_limiter: RateLimiter
) -> None:
    rate_limiter.take(LIMIT, "192.0.2.77", "alice@example.com")
    files = list(settings.data_dir.glob("rate_limits.db*"))
    assert files
    for file in files:
        assert b"192.0.2.77" not in file.read_bytes()
        assert b"alice" not in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_file_of_an_earlier_version_goes(settings: Settings, rate_limiter: RateLimiter) -> None:
    for name in ("throttles.db", "throttles.db-wal"):
        (settings.data_dir / name).touch()
    rate_limiter.take(LIMIT, "alice")
    assert not list(settings.data_dir.glob("throttles*"))


def test_the_window_of_tries_moves(either: RateLimiter) -> None:
    for seconds in (0, 1, 2, 3, 4):
        with time_machine.travel(NOW + seconds, tick=False):
            assert either.take(LIMIT, "alice") == 0
    with time_machine.travel(NOW + 100, tick=False):
        assert either.take(LIMIT, "alice") == 500
        assert either.look(LIMIT, "alice").remaining == 0
        either.reset(LIMIT, "alice")
        assert either.look(LIMIT, "alice").remaining == 5


def test_many_threads_of_two_machines_are_counted_together(
    shared_settings: Settings, either: RateLimiter
) -> None:
    both = [either, RateLimiter(shared_settings)]
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda number: both[number % 2].take(LIMIT, "alice"), range(64)))
        windows = list(pool.map(lambda number: both[number % 2].count_request(LIMIT, "bob"), range(64)))
    both[1].close()
    assert waits.count(0) == 5
    assert [window.is_over for window in windows].count(False) == 5


def test_requests_are_counted_in_a_window_that_begins_with_the_first(either: RateLimiter) -> None:
    found = [either.count_request(LIMIT, "alice") for _ in range(6)]
    assert [(one.remaining, one.is_over) for one in found] == [
        (4, False),
        (3, False),
        (2, False),
        (1, False),
        (0, False),
        (0, True),
    ]
    assert all(1 <= one.seconds <= 600 for one in found)
    assert either.count_request(LIMIT, "bob").remaining == 4


def test_of_several_limits_the_first_that_refuses_says_how_long(rate_limiter: RateLimiter) -> None:
    other = at_most(6, minutes=60, name="other")
    waits = [rate_limiter.take_each([(other, "alice"), (LIMIT, "alice")]) for _ in range(7)]
    assert waits[:5] == [0] * 5
    assert 0 < waits[5] <= 600 < waits[6] <= 3600


def test_another_secret_makes_other_marks(settings: Settings, rate_limiter: RateLimiter) -> None:
    ours = rate_limiter.hashed(("192.0.2.1",))
    with secret_keys("another"):
        assert rate_limiter.hashed(("192.0.2.1",)) != ours
    assert rate_limiter.hashed(("a", "b")) != rate_limiter.hashed(("ab",))


def test_where_the_shared_count_fails_one_counts_alone_and_says_so(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    (settings.data_dir / "rate_limits.db").write_bytes(
        b"this is no database, and long enough to be sure of it" * 20
    )
    rate_limiter = RateLimiter(settings)
    with caplog.at_level(logging.WARNING):
        waits = [rate_limiter.take(LIMIT, "alice") for _ in range(7)]
        rate_limiter.give_back(LIMIT, "alice")
    rate_limiter.close()
    assert [wait == 0 for wait in waits] == [True] * 5 + [False] * 2
    assert caplog.text.count("limits are counted by this process alone") == 1
    assert "stays counted" in caplog.text


@pytest.mark.parametrize("end", ["freeze", "stop"])
def test_a_redis_that_does_not_answer_is_waited_for_once(
    settings: Settings, redis_server: RedisServer, caplog: pytest.LogCaptureFixture, end: str
) -> None:
    rate_limiter = RateLimiter(of_redis(settings, redis_server))
    assert rate_limiter.take(LIMIT, "alice") == 0
    getattr(redis_server, end)()
    with caplog.at_level(logging.WARNING):
        began = time.monotonic()
        waits = [rate_limiter.take(LIMIT, "alice") for _ in range(40)]
        seconds = time.monotonic() - began
    rate_limiter.close()
    assert waits.count(0) == 5, "the file of this machine counts meanwhile"
    assert seconds < 2, "each of them waited"
    assert caplog.text.count("counted by each machine alone") == 1


def test_redis_counts_again_as_soon_as_it_answers(settings: Settings, redis_server: RedisServer) -> None:
    rate_limiter, other = (RateLimiter(of_redis(settings, redis_server)) for _ in range(2))
    for _ in range(5):
        rate_limiter.take(LIMIT, "alice")
    redis_server.freeze()
    assert rate_limiter.take(LIMIT, "alice") == 0, "counted anew, by the file"
    redis_server.thaw()
    wait_for(lambda: rate_limiter.places[0].breaker.admits(), "Redis that is asked again", 30)
    assert rate_limiter.take(LIMIT, "alice") > 0
    assert other.take(LIMIT, "alice") > 0
    for each in (rate_limiter, other):
        each.close()


def test_a_redis_that_takes_no_writes_counts_nothing(settings: Settings, redis_server: RedisServer) -> None:
    with connect(redis_server.url) as client:
        client.config_set("maxmemory", "1")
        rate_limiter = RateLimiter(of_redis(settings, redis_server))
        assert [rate_limiter.take(LIMIT, "alice") == 0 for _ in range(6)] == [True] * 5 + [False]
        with pytest.raises(RedisError):
            rate_limiter.places[0].probe()
        client.config_set("maxmemory", "0")
    wait_for(lambda: rate_limiter.places[0].breaker.admits(), "Redis that is asked again", 30)
    rate_limiter.close()


def test_expired_windows_are_deleted_and_the_rows_are_bounded(
    postgres_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_storage, "PRUNE_EVERY", 10)
    monkeypatch.setattr(postgres_storage, "MAX_ROWS", 15)
    rate_limiter = RateLimiter(postgres_settings)
    found = []
    with psycopg.connect(postgres_settings.database_url, autocommit=True) as connection:
        for at in [*range(40), *range(700, 710)]:
            with time_machine.travel(NOW + at, tick=False):
                rate_limiter.take(LIMIT, str(at))
            found += connection.execute("SELECT count(*) FROM rate_limit_count").fetchall()
    rate_limiter.close()
    assert max(found) <= (25,), "10 more than MAX_ROWS"
    assert found[-1] == (10,), "what has expired is deleted"


def test_counts_are_in_no_log_of_postgresql(postgres_settings: Settings) -> None:
    query = "SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r' ORDER BY 1"
    with psycopg.connect(postgres_settings.database_url) as connection:
        assert connection.execute(query).fetchall() == [("daily_salt",), ("rate_limit_count",)]


def test_a_postgresql_that_does_not_answer_is_waited_for_once(
    postgres_settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    rate_limiter = RateLimiter(postgres_settings)
    assert rate_limiter.take(LIMIT, "alice") == 0
    with psycopg.connect(postgres_settings.database_url) as connection, caplog.at_level(logging.WARNING):
        connection.execute("LOCK TABLE rate_limit_count")
        began = time.monotonic()
        waits = [rate_limiter.take(LIMIT, "alice") for _ in range(40)]
        seconds = time.monotonic() - began
    assert waits.count(0) == 5, "the file of this machine counts meanwhile"
    assert seconds < 2, "each of them waited"
    assert caplog.text.count("counted by each machine alone") == 1
    wait_for(lambda: rate_limiter.places[0].breaker.admits(), "PostgreSQL that is asked again", 30)
    assert [rate_limiter.take(LIMIT, "alice") == 0 for _ in range(5)].count(True) >= 3
    rate_limiter.close()


def test_connections_of_before_a_restart_are_given_up(postgres_settings: Settings) -> None:
    rate_limiter = RateLimiter(postgres_settings)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: rate_limiter.take(LIMIT, str(number)), range(32)))
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(postgres_settings.database_url) as connection:
        connection.execute(end)
    rate_limiter.take(LIMIT, "alice")
    rate_limiter.places[0].probe()
    rate_limiter.close()


NETWORKS = {
    "192.0.2.1": "192.0.2.1",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
    "::ffff:192.0.2.1": "192.0.2.1",
    "": "",
    "unix:": "unix:",
}


@pytest.mark.parametrize(("address", "network"), NETWORKS.items())
def test_one_client_is_one_network(address: str, network: str) -> None:
    assert network_of(address) == network
