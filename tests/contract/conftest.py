"""Which server is asked, and with which keys?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.contract.client import Client
from tests.server import Server

PASSWORD = "correct horse battery staple"


class Keys(NamedTuple):
    url: str
    write: str
    read: str | None
    other: str | None


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keys]:
    environ = os.environ
    if url := environ.get("CONTRACT_URL"):
        yield Keys(
            url, environ["CONTRACT_KEY"], environ.get("CONTRACT_READ_KEY"), environ.get("CONTRACT_OTHER_KEY")
        )
        return
    server = Server(tmp_path_factory.mktemp("contract") / "data").start()
    for email in ("one@example.com", "two@example.com"):
        server.flask("users", "create", "--email", email, "--password-stdin", stdin=PASSWORD)

    def key(email: str, scope: str = "write") -> str:
        return server.flask(
            "keys", "create", "--email", email, "--name", "contract", "--scope", scope
        ).strip()

    yield Keys(server.url, key("one@example.com"), key("one@example.com", "read"), key("two@example.com"))
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
def other(keys: Keys) -> Iterator[Client]:
    if not keys.other:
        pytest.skip("no CONTRACT_OTHER_KEY")
    client = Client(keys.url, keys.other)
    yield client
    client.tidy()
