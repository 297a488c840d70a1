"""Are tries counted exactly, by everybody together, and without an address being written?"""

from __future__ import annotations

import logging
import multiprocessing
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import time_machine

from app.config import Settings, load_settings
from app.secret_keys.ring import SecretKeys, use_keys
from app.throttles import Throttles, at_most, network_of
from tests.conftest import environ
from tests.keys import secret_keys

LIMIT = at_most(5, minutes=10, name="tries")
NOW = 1_800_000_000.0


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    found = load_settings(environ(data_dir))
    use_keys(SecretKeys(found.secret_key, found.secret_key_old, found.secret_key_dir))
    return found


@pytest.fixture
def throttles(settings: Settings) -> Iterator[Throttles]:
    found = Throttles(settings)
    yield found
    found.close()


def test_so_many_are_allowed_and_then_one_waits_until_the_first_is_old(throttles: Throttles) -> None:
    for seconds in range(5):
        with time_machine.travel(NOW + seconds, tick=False):
            assert throttles.take(LIMIT, "alice") == 0
    with time_machine.travel(NOW + 100, tick=False):
        assert throttles.take(LIMIT, "alice") == 500
    with time_machine.travel(NOW + 600, tick=False):
        assert throttles.take(LIMIT, "alice") == 0
        assert throttles.take(LIMIT, "alice") == 1


def test_a_refused_try_does_not_make_the_wait_longer(throttles: Throttles) -> None:
    with time_machine.travel(NOW, tick=False):
        waits = [throttles.take(LIMIT, "alice") for _ in range(10)]
    assert waits == [0] * 5 + [600] * 5


def test_each_is_counted_apart(throttles: Throttles) -> None:
    for who in [("alice",), ("bob",), ("alice", "link 1"), ("alice", "link 2"), ("alicelink 1",)]:
        for _ in range(5):
            assert throttles.take(LIMIT, *who) == 0
        assert throttles.take(LIMIT, *who) > 0
    assert throttles.take(at_most(5, minutes=10, name="other"), "alice") == 0


def test_what_is_forgiven_is_forgotten(throttles: Throttles) -> None:
    for _ in range(6):
        throttles.take(LIMIT, "alice")
        throttles.take(LIMIT, "bob")
    throttles.forgive(LIMIT, "alice")
    assert throttles.take(LIMIT, "alice") == 0
    assert throttles.take(LIMIT, "bob") > 0


def test_many_at_once_are_not_more_than_many_in_a_row(throttles: Throttles) -> None:
    with ThreadPoolExecutor(16) as pool:
        waits = list(pool.map(lambda _: throttles.take(LIMIT, "alice"), range(64)))
    assert waits.count(0) == 5


def takes(settings: Settings, count: int) -> int:
    use_keys(SecretKeys(settings.secret_key))
    throttles = Throttles(settings)
    allowed = [throttles.take(LIMIT, "alice") for _ in range(count)].count(0)
    throttles.close()
    return allowed


def test_all_processes_count_together(settings: Settings) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert sum(pool.starmap(takes, [(settings, 10)] * 6)) == 5


def test_a_forked_process_opens_a_file_of_its_own(settings: Settings, throttles: Throttles) -> None:
    throttles.take(LIMIT, "alice")
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=lambda: queue.put([throttles.take(LIMIT, "alice") for _ in range(5)]))
    process.start()
    assert queue.get().count(0) == 4
    process.join()
    assert throttles.take(LIMIT, "alice") > 0


def test_no_address_is_written_and_nobody_else_reads_the_counts(
    settings: Settings, throttles: Throttles
) -> None:
    throttles.take(LIMIT, "192.0.2.77", "alice@example.com")
    files = list(settings.data_dir.glob("throttles.db*"))
    assert files
    for file in files:
        assert b"192.0.2.77" not in file.read_bytes()
        assert b"alice" not in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_another_secret_makes_other_marks(settings: Settings, throttles: Throttles) -> None:
    ours = throttles.hashed(("192.0.2.1",))
    with secret_keys("another"):
        assert throttles.hashed(("192.0.2.1",)) != ours
    assert throttles.hashed(("a", "b")) != throttles.hashed(("ab",))


def test_where_the_shared_count_fails_one_counts_alone_and_says_so(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    (settings.data_dir / "throttles.db").write_bytes(
        b"this is no database, and long enough to be sure of it" * 20
    )
    throttles = Throttles(settings)
    with caplog.at_level(logging.WARNING):
        waits = [throttles.take(LIMIT, "alice") for _ in range(7)]
    throttles.close()
    assert [wait == 0 for wait in waits] == [True] * 5 + [False] * 2
    assert "tries are counted by this process alone" in caplog.text


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
