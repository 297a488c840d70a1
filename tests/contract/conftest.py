"""Fixtures of the contract tests: the server under test and its keys."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.contract.client import Client
from tests.server import Server

PASSWORD = "correct horse battery staple"
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
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keys]:
    if "CONTRACT_URL" in os.environ:
        yield of_environment()
        return
    folder = tmp_path_factory.mktemp("contract") / "data"
    server = peopled(Server(folder))
    one, two = EMAILS
    revoked = key(server, one)
    expired = key(server, one)
    server.flask("keys", "revoke", revoked[:16])
    change(folder, "UPDATE api_key SET expires_datetime = datetime WHERE prefix = ?", [expired[:11]])
    give_domain(folder)
    more = (key(server, one, "read"), key(server, two), revoked, expired, HOST)
    found = Keys(server.url, key(server, one), *more)
    server.start()
    yield found
    server.stop()


def peopled(server: Server) -> Server:
    for email in EMAILS:
        server.flask("users", "create", "--email", email, "--password-stdin", stdin=PASSWORD)
    return server


def key(server: Server, email: str, scope: str = "write") -> str:
    return server.flask("keys", "create", "--email", email, "--name", "contract", "--scope", scope).strip()


def give_domain(folder: Path) -> None:
    """Inserts a domain that is already verified: a test has no DNS to verify one with."""
    row = {
        "workspace_id": 1, "user_id": 1, "host": HOST, "scheme": "http://", "is_enabled": True, "is_verified": True, "token": "t",
        "custom_index_url": "https://example.com/index", "datetime": f"{dt.datetime.now(dt.UTC):%F %T.%f}",
    }  # fmt: skip
    marks = ", ".join(f":{name}" for name in row)
    change(folder, f"INSERT INTO domain ({', '.join(row)}) VALUES ({marks})", row)


def change(folder: Path, statement: str, values: list[str] | dict[str, object]) -> None:
    """Changes one row of a server that does not run yet."""
    with closing(sqlite3.connect(folder / "main.db")) as database, database:
        assert database.execute(statement, values).rowcount == 1


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
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keys]:
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
    server = peopled(Server(tmp_path_factory.mktemp("limited") / "data", API_RATE_LIMIT=str(FEW)))
    found = Keys(server.url, key(server, EMAILS[0]), key(server, EMAILS[0], "read"))
    server.start()
    yield found
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
def little_space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Keys]]:
    """A server that can store a little and then nothing more: SQLite itself refuses, as on a full disk."""
    server = peopled(Server(tmp_path_factory.mktemp("little_space") / "data"))
    found = Keys(server.url, key(server, EMAILS[0]))
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
