"""Daily salts that machines share: the first one counts, in Redis and in PostgreSQL, and none stays behind."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text

from app.core.config import Settings
from app.core.redis_client import connect
from app.core.secret_keys.check import reencrypt_all
from app.journal.daily_salt import day_key
from app.journal.shared_salt import PostgresSalts, RedisSalts, SaltStore, salt_store, share_salts
from app.redirects.context import REREAD_MS, Today
from tests.keys import secret_keys
from tests.redis_server import RedisServer

# far ahead: Redis, which goes by its own clock, would drop the salt of a day that is over
NOON = dt.datetime(2099, 11, 25, 12, tzinfo=dt.UTC)
DAYS = [dt.date(2099, 11, 25), dt.date(2099, 11, 26)]
KEY = bytes(range(32))

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    found = create_engine(settings.database_url)
    yield found
    found.dispose()


@pytest.fixture(params=["Redis", "PostgreSQL"])
def store(request: pytest.FixtureRequest, settings: Settings, engine: Engine) -> SaltStore:
    url = request.getfixturevalue("redis_server").url if request.param == "Redis" else None
    found = salt_store(replace(settings, redis_url=url), engine)
    assert found is not None
    return found


@pytest.fixture
def machines(tmp_path: Path) -> list[Path]:
    found = [tmp_path / f"machine-{number}" for number in range(8)]
    for each in found:
        each.mkdir()
    return found


def keys_of(machine: Path) -> list[bytes]:
    return [day_key(machine, day) for day in DAYS]


def test_all_machines_have_the_same_ahead_of_the_day(store: SaltStore, machines: list[Path]) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda machine: share_salts(machine, store, NOON), machines))
    assert {path.name for path in (machines[0] / "keys").iterdir()} == {"2099-11-25", "2099-11-26"}
    assert all((machines[0] / "keys" / f"{day}").stat().st_mode & 0o777 == 0o600 for day in DAYS)
    first, *others = map(keys_of, machines)
    assert others == [first] * 7
    assert first[0] != first[1]


def test_a_machine_takes_the_shared_one_in_place_of_its_own(
    store: SaltStore, machines: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    ours = Today(machines[1])
    now_ms = int(NOON.timestamp() * 1000)
    share_salts(machines[0], store, NOON)
    own = ours.key(now_ms)  # a visitor came while nothing could be reached
    assert own != keys_of(machines[0])[0]
    with caplog.at_level(logging.WARNING):
        share_salts(machines[1], store, NOON)
    assert "count twice" in caplog.text
    assert keys_of(machines[1]) == keys_of(machines[0])
    assert ours.key(now_ms + 1) == own
    assert ours.key(now_ms + REREAD_MS) == keys_of(machines[0])[0]


def test_what_a_store_forgets_is_offered_again(
    store: SaltStore, machines: list[Path], engine: Engine
) -> None:
    share_salts(machines[0], store, NOON)
    if isinstance(store, RedisSalts):
        store.client.flushall()
    else:
        with engine.begin() as connection:
            connection.execute(text("TRUNCATE daily_salt"))  # as a crash does
    for machine in machines[:2]:
        share_salts(machine, store, NOON)
    assert keys_of(machines[1]) == keys_of(machines[0])


def test_redis_keeps_it_encrypted_and_until_an_hour_after_its_day(
    redis_server: RedisServer, settings: Settings, machines: list[Path]
) -> None:
    share_salts(machines[0], RedisSalts(redis_server.url), dt.datetime.now(dt.UTC))
    today = dt.datetime.now(dt.UTC).date()
    with connect(redis_server.url) as client:
        names = sorted(client.keys("waypost:salt:*"))
        found = [(client.get(name), client.expiretime(name)) for name in names]
    key = day_key(machines[0], today)
    for days, (name, (value, expires)) in enumerate(zip(names, found, strict=True)):
        day = today + dt.timedelta(days=days)
        assert name.decode().endswith(day.isoformat())
        end = dt.datetime.combine(day, dt.time(1), dt.UTC) + dt.timedelta(days=1)
        assert expires == end.timestamp()
        assert key not in value
        assert key.hex().encode() not in value


def test_nothing_of_a_late_one_is_in_postgresqls_files(
    engine: Engine, machines: list[Path], settings: Settings
) -> None:
    store = PostgresSalts(engine)
    share_salts(machines[0], store, NOON)
    where = text("SELECT pg_relation_filepath('daily_salt')")
    with engine.connect() as connection:
        (salt,) = connection.scalars(text("SELECT salt FROM daily_salt WHERE day = '2099-11-25'"))
        before = connection.scalar(where)
    assert keys_of(machines[0])[0].hex() not in salt, "it is encrypted"
    for at, is_kept in (("2099-11-26 00:59:59Z", True), ("2099-11-26 01:00Z", False)):
        share_salts(machines[0], store, dt.datetime.fromisoformat(at))
        with engine.connect() as connection:
            days = connection.scalars(text("SELECT day FROM daily_salt ORDER BY day")).all()
            assert (DAYS[0] in days) == is_kept
            assert (connection.scalar(where) == before) == is_kept, "its file is another one"
    assert days == [DAYS[1], dt.date(2099, 11, 27)]
    assert day_key(machines[0], DAYS[1]) == keys_of(machines[0])[1]


def test_a_rotation_encrypts_it_anew(engine: Engine, machines: list[Path], session) -> None:
    store = PostgresSalts(engine)
    with secret_keys("old"):
        share_salts(machines[0], store, NOON)
        reencrypt_all(session, ("new", "old"))
        session.commit()
    with secret_keys("new"):
        share_salts(machines[1], store, NOON)
    assert keys_of(machines[1]) == keys_of(machines[0])


def test_another_secret_key_shares_nothing(
    store: SaltStore, machines: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    share_salts(machines[0], store, NOON)
    with secret_keys("another"):
        share_salts(machines[1], store, NOON)
    assert keys_of(machines[0]) != keys_of(machines[1])


FAILING: dict[str, Callable[[RedisServer], object]] = {
    "it is frozen": RedisServer.freeze,
    "it is gone": RedisServer.stop,
}


@pytest.mark.parametrize("end", FAILING.values(), ids=FAILING.keys())
def test_a_redis_that_does_not_answer_is_an_error_of_the_system(
    redis_server: RedisServer, settings: Settings, machines: list[Path], end: Callable[[RedisServer], object]
) -> None:
    end(redis_server)
    with pytest.raises(OSError, match="Redis does not answer"):
        share_salts(machines[0], RedisSalts(redis_server.url), NOON)
    assert len(day_key(machines[0], DAYS[0])) == 32, "a visitor does not wait for it"
