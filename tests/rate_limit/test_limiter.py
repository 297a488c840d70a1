"""Rate limiter: tries are counted exactly, by all processes together, and no address is written."""

from __future__ import annotations

import logging
import multiprocessing
import shutil
import stat
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import time_machine
from redis import RedisError

from app.core.config import Settings, load_settings
from app.core.secret_keys.ring import SecretKeys, use_keys
from app.rate_limit.limiter import RateLimiter, at_most, network_of, ping
from tests.conftest import environ
from tests.keys import secret_keys
from tests.server import free_port, wait_for

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


@pytest.fixture
def redis_url() -> Iterator[str]:
    """The address of a Redis that this test starts."""
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server here")
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--daemonize", "no"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    url = f"redis://127.0.0.1:{port}/0"
    try:
        wait_for(lambda: is_there(url), "Redis")
        yield url
    finally:
        process.terminate()
        process.wait()


def is_there(url: str) -> bool:
    try:
        ping(url)
    except RedisError:
        return False
    return True


@pytest.fixture(params=["file", "Redis"])
def either(request: pytest.FixtureRequest, settings: Settings) -> Iterator[RateLimiter]:
    url = request.getfixturevalue("redis_url") if request.param == "Redis" else None
    found = RateLimiter(replace(settings, redis_url=url))
    yield found
    found.close()


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
    assert "limits are counted by this process alone" in caplog.text
    assert "stays counted" in caplog.text


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
