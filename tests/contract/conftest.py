"""Fixtures of the contract tests: the server under test and its keys."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from app.core.clock import now
from tests.applications import rows_of
from tests.contract.client import Client
from tests.server import Server

EMAILS = ("one@example.com", "two@example.com")
HOST = "links.example"
# loaded by every process of a server whose storage is to be full
NO_SPACE = Path(__file__).with_name("no_space")
SOME_PAGES = 64
FEW = 20  # requests a minute, on the server whose rate limit is tested


class Keys(NamedTuple):
    url: str
    write: str
    read: str | None = None
    other: str | None = None
    revoked: str | None = None
    expired: str | None = None
    # a verified domain of the user that answers on this server
    domain: str | None = None


def of_environment() -> Keys:
    environ = os.environ
    names = ("READ_KEY", "OTHER_KEY", "REVOKED_KEY", "EXPIRED_KEY", "DOMAIN")
    more = (environ.get(f"CONTRACT_{name}") for name in names)
    return Keys(environ["CONTRACT_URL"], environ["CONTRACT_KEY"], *more)


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Keys]:
    if "CONTRACT_URL" in os.environ:
        yield of_environment()
        return
    server = Server(tmp_path_factory.mktemp("contract") / "data")
    with rows_of(server, sqlite_template) as factory:
        one, two = (factory.user(email) for email in EMAILS)
        write, read, other, revoked, expired = (
            key
            for _, key in (
                factory.key(one),
                factory.key(one, "read"),
                factory.key(two),
                factory.key(one, revoked_datetime=now()),
                factory.key(one, expires_datetime=now()),
            )
        )
        # already verified: a test has no DNS to verify one with
        factory.domain(one, HOST, scheme="http://", custom_index_url="https://example.com/index")
    server.start()
    yield Keys(server.url, write, read, other, revoked, expired, HOST)
    server.stop()


@pytest.fixture
def api(keys: Keys) -> Iterator[Client]:
    client = Client(keys.url, keys.write)
    yield client
    client.tidy()


@pytest.fixture
def nobody(keys: Keys) -> Client:
    return Client(keys.url, None)


@pytest.fixture
def reader(keys: Keys) -> Client:
    if not keys.read:
        pytest.skip("no CONTRACT_READ_KEY")
    return Client(keys.url, keys.read)


@pytest.fixture
def revoked(keys: Keys) -> Client:
    if not keys.revoked:
        pytest.skip("no CONTRACT_REVOKED_KEY")
    return Client(keys.url, keys.revoked)


@pytest.fixture
def expired(keys: Keys) -> Client:
    if not keys.expired:
        pytest.skip("no CONTRACT_EXPIRED_KEY")
    return Client(keys.url, keys.expired)


@pytest.fixture
def other(keys: Keys) -> Iterator[Client]:
    if not keys.other:
        pytest.skip("no CONTRACT_OTHER_KEY")
    client = Client(keys.url, keys.other)
    yield client
    client.tidy()


@pytest.fixture
def host(keys: Keys) -> str:
    if not keys.domain:
        pytest.skip("no CONTRACT_DOMAIN")
    return keys.domain


@pytest.fixture(scope="session")
def limited(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Keys]:
    """A server of its own: its rate limits are used up, and other cases would be answered 429, too."""
    environ = os.environ
    if "CONTRACT_URL" in environ:
        if "CONTRACT_LIMITED_URL" not in environ:
            pytest.skip("no CONTRACT_LIMITED_URL")
        yield Keys(
            environ["CONTRACT_LIMITED_URL"],
            environ["CONTRACT_LIMITED_KEY"],
            environ.get("CONTRACT_LIMITED_READ_KEY"),
        )
        return
    server = Server(tmp_path_factory.mktemp("limited") / "data", API_RATE_LIMIT=str(FEW))
    with rows_of(server, sqlite_template) as factory:
        one = factory.user(EMAILS[0])
        write, read = (factory.key(one, scope)[1] for scope in ("write", "read"))
    server.start()
    yield Keys(server.url, write, read)
    server.stop()


def of_operator(name: str) -> Keys | None:
    """The outside server that its operator has prepared for one case; None in this project's own suite."""
    environ = os.environ
    if "CONTRACT_URL" not in environ:
        return None
    if f"CONTRACT_{name}_URL" not in environ:
        pytest.skip(f"no CONTRACT_{name}_URL")
    return Keys(environ[f"CONTRACT_{name}_URL"], environ[f"CONTRACT_{name}_KEY"])


@pytest.fixture(scope="session")
def little_space(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> Iterator[tuple[Server, Keys]]:
    """A server that can store a little and then nothing more: SQLite itself refuses, as on a full disk."""
    server = Server(tmp_path_factory.mktemp("little_space") / "data")
    with rows_of(server, sqlite_template) as factory:
        found = Keys(server.url, factory.key(factory.user(EMAILS[0]))[1])
    with closing(sqlite3.connect(server.data_dir / "main.db")) as database:
        (pages,) = database.execute("PRAGMA page_count").fetchone()
    server.environ |= {"PYTHONPATH": str(NO_SPACE), "NO_SPACE_PAGES": str(pages + SOME_PAGES)}
    server.start()
    yield server, found
    server.stop()


@pytest.fixture
def full(request: pytest.FixtureRequest) -> Keys:
    given = of_operator("FULL")
    return given or Keys(*request.getfixturevalue("little_space")[1])


@pytest.fixture
def busy(request: pytest.FixtureRequest) -> Iterator[Keys]:
    given = of_operator("BUSY")
    if given:
        yield given
        return
    server, found = request.getfixturevalue("little_space")
    with closing(sqlite3.connect(server.data_dir / "main.db", isolation_level=None, timeout=90)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield found
