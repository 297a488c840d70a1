"""Rate limiter: tries are counted exactly, by all processes together, and no address is written."""

from __future__ import annotations

import logging
import multiprocessing
import stat
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
import time_machine

from app.core.config import Settings, load_settings
from app.core.secret_keys.ring import SecretKeys, use_keys
from app.rate_limit import limiter, storages
from app.rate_limit.limiter import RateLimiter, at_most, network_of
from app.rate_limit.storages import FILE, TableStorage
from tests import postgres
from tests.conftest import environ
from tests.keys import secret_keys
from tests.redis_server import RedisServer

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


@pytest.fixture
def postgres_settings(settings: Settings, postgres_template: str) -> Iterator[Settings]:
    name = f"test_{uuid.uuid4().hex}"
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
        yield replace(settings, database_url=postgres.address(name))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["file", "Redis", "PostgreSQL"])
def shared_settings(request: pytest.FixtureRequest, settings: Settings) -> Settings:
    if request.param == "PostgreSQL":
        found: Settings = request.getfixturevalue("postgres_settings")
        return found
    if request.param == "Redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        return replace(settings, redis_url=server.url)
    return settings


@pytest.fixture
def either(shared_settings: Settings) -> Iterator[RateLimiter]:
    found = RateLimiter(shared_settings)
    yield found
    assert not found.down_until, "the shared storage has counted"
    found.close()


def test_so_many_are_allowed_and_then_one_waits_until_the_first_is_old(rate_limiter: RateLimiter) -> None:
    for seconds in range(5):
        with time_machine.travel(NOW + seconds, tick=False):
            assert rate_limiter.take(LIMIT, "alice") == 0
    with time_machine.travel(NOW + 100, tick=False):
        waits = [rate_limiter.take(LIMIT, "alice") for _ in range(3)]
        assert waits == [500] * 3, "a refused try does not make the wait longer"
    with time_machine.travel(NOW + 600, tick=False):
        assert rate_limiter.take(LIMIT, "alice") == 0
        assert rate_limiter.take(LIMIT, "alice") == 1


def test_each_is_counted_apart(rate_limiter: RateLimiter) -> None:
    for who in [("alice",), ("bob",), ("alice", "link 1"), ("alice", "link 2"), ("alicelink 1",)]:
        for _ in range(5):
            assert rate_limiter.take(LIMIT, *who) == 0
        assert rate_limiter.take(LIMIT, *who) > 0
    assert rate_limiter.take(at_most(5, minutes=10, name="other"), "alice") == 0


def test_what_is_given_back_was_no_try(either: RateLimiter) -> None:
    either.give_back(LIMIT, "alice")  # nothing was taken yet
    for seconds in (0, 100):
        with time_machine.travel(NOW + seconds, tick=False):
            either.take(LIMIT, "alice")
    either.give_back(LIMIT, "alice")  # the last one
    with time_machine.travel(NOW + 300, tick=False):
        assert [either.take(LIMIT, "alice") for _ in range(5)] == [0, 0, 0, 0, 300]


def test_the_window_of_tries_moves_and_a_success_clears_it(either: RateLimiter) -> None:
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
    left = [(4, False), (3, False), (2, False), (1, False), (0, False), (0, True)]
    assert [(one.remaining, one.is_over) for one in found] == left
    assert all(1 <= one.seconds <= 600 for one in found)
    assert either.count_request(LIMIT, "bob").remaining == 4


def test_a_new_window_begins_after_the_last_one(rate_limiter: RateLimiter) -> None:
    for seconds, left in ((0, (4, 600)), (599, (3, 1)), (600, (4, 600)), (700, (3, 500))):
        with time_machine.travel(NOW + seconds, tick=False):
            assert rate_limiter.count_request(LIMIT, "alice")[:2] == left


def takes(settings: Settings, count: int) -> int:
    use_keys(SecretKeys(settings.secret_key))
    rate_limiter = RateLimiter(settings)
    allowed = [rate_limiter.take(LIMIT, "alice") for _ in range(count)].count(0)
    rate_limiter.close()
    return allowed


@pytest.mark.full
def test_all_processes_count_together(settings: Settings) -> None:
    """From the first moment, when each of them may make the file."""
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert sum(pool.starmap(takes, [(settings, 10)] * 6)) == 5


def test_a_forked_process_opens_connections_of_its_own(settings: Settings, rate_limiter: RateLimiter) -> None:
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
    assert not list(settings.data_dir.glob(f"{FILE}*")), "made by the first count"
    rate_limiter.take(LIMIT, "192.0.2.77", "alice@example.com")
    files = list(settings.data_dir.glob(f"{FILE}*"))
    assert files
    for file in files:
        assert b"192.0.2.77" not in file.read_bytes()
        assert b"alice" not in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_of_several_limits_the_first_that_refuses_says_how_long(rate_limiter: RateLimiter) -> None:
    other = at_most(6, minutes=60, name="other")
    waits = [rate_limiter.take_each([(other, "alice"), (LIMIT, "alice")]) for _ in range(7)]
    assert waits[:5] == [0] * 5
    assert 0 < waits[5] <= 600 < waits[6] <= 3600


def test_another_secret_makes_other_marks(rate_limiter: RateLimiter) -> None:
    ours = rate_limiter.hashed(("192.0.2.1",))
    with secret_keys("another"):
        assert rate_limiter.hashed(("192.0.2.1",)) != ours
    assert rate_limiter.hashed(("a", "b")) != rate_limiter.hashed(("ab",))


def spoil_file(request: pytest.FixtureRequest) -> Settings:
    found: Settings = request.getfixturevalue("settings")
    (found.data_dir / FILE).write_bytes(b"this is no database, and long enough to be sure of it" * 20)
    return found


def freeze_redis(request: pytest.FixtureRequest) -> Settings:
    server: RedisServer = request.getfixturevalue("redis_server")
    server.freeze()
    return replace(request.getfixturevalue("settings"), redis_url=server.url)


def lock_table(request: pytest.FixtureRequest) -> Settings:
    found: Settings = request.getfixturevalue("postgres_settings")
    connection = psycopg.connect(found.database_url)
    connection.execute("LOCK TABLE rate_limit_count")
    request.addfinalizer(connection.close)
    return found


@pytest.mark.parametrize("spoil", [spoil_file, freeze_redis, lock_table])
def test_a_storage_that_does_not_answer_is_waited_for_once(
    request: pytest.FixtureRequest,
    caplog: pytest.LogCaptureFixture,
    spoil: Callable[[pytest.FixtureRequest], Settings],
) -> None:
    rate_limiter = RateLimiter(spoil(request))
    began = time.monotonic()
    with caplog.at_level(logging.WARNING):
        waits = [rate_limiter.take(LIMIT, "alice") for _ in range(40)]
        rate_limiter.give_back(LIMIT, "alice")
    assert time.monotonic() - began < limiter.DOWN_SECONDS, "each of them waited"
    rate_limiter.close()
    assert waits.count(0) == 5
    assert caplog.text.count("counted by this process alone") == 1
    assert "stays counted" in caplog.text


def test_a_storage_counts_again_after_a_while(
    settings: Settings, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limiter, "DOWN_SECONDS", 0.0)
    rate_limiter = RateLimiter(replace(settings, redis_url=redis_server.url))
    for _ in range(5):
        rate_limiter.take(LIMIT, "alice")
    redis_server.freeze()
    assert rate_limiter.take(LIMIT, "alice") == 0, "counted anew, by this process"
    redis_server.thaw()
    assert rate_limiter.take(LIMIT, "alice") > 0
    rate_limiter.close()


def test_what_a_process_counts_alone_is_bounded(
    settings: Settings, rate_limiter: RateLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limiter, "MAX_ALONE", 10)
    rate_limiter.down_until = time.monotonic() + 60
    for number in range(50):
        rate_limiter.take(LIMIT, str(number))
        assert len(rate_limiter.alone.events) <= 10


def test_expired_windows_are_deleted_and_the_rows_are_bounded(
    rate_limiter: RateLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storages, "PRUNE_EVERY", 10)
    monkeypatch.setattr(storages, "MAX_ROWS", 15)
    assert isinstance(rate_limiter.storage, TableStorage)
    found = []
    for at in [*range(40), *range(700, 710)]:
        with time_machine.travel(NOW + at, tick=False):
            rate_limiter.take(LIMIT, str(at))
        found.append(rate_limiter.storage.run("SELECT count(*) FROM rate_limit_count")[0])
    assert max(found) <= 25, "10 more than MAX_ROWS"
    assert found[-1] <= 11, "what has expired is deleted"


def test_postgresql_keeps_counts_out_of_its_log_and_survives_a_restart(postgres_settings: Settings) -> None:
    rate_limiter = RateLimiter(postgres_settings)
    rate_limiter.take(LIMIT, "alice")
    query = "SELECT relpersistence FROM pg_class WHERE relname = 'rate_limit_count'"
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(postgres_settings.database_url) as connection:
        assert connection.execute(query).fetchall() == [("u",)]
        connection.execute(end)
    rate_limiter.take(LIMIT, "alice")  # comes upon a connection of before
    rate_limiter.down_until = 0.0
    assert rate_limiter.take(LIMIT, "alice") == 0
    assert not rate_limiter.down_until
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
