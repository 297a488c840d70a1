"""Fixtures of the contract test: the same clicks in SQLite, in PostgreSQL and in ClickHouse."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from app.analytics.clickhouse import ingest as clickhouse_ingest
from app.analytics.clickhouse.client import clickhouse_of
from app.analytics.clickhouse.schema import make_tables
from tests.clickhouse_server import ClickHouseServer

STORES = ("sqlite", "postgresql", "clickhouse")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store" in metafunc.fixturenames and not is_chosen(metafunc):
        metafunc.parametrize("store", STORES, indirect=True)


def is_chosen(metafunc: pytest.Metafunc) -> bool:
    """Whether the module or the test itself says which stores it is for."""
    is_own = any(mark.args[0] == "store" for mark in metafunc.definition.iter_markers("parametrize"))
    return is_own or hasattr(metafunc.module, "store") or hasattr(metafunc.module, "pytestmark")


@pytest.fixture(scope="session")
def clickhouse_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    server = ClickHouseServer(tmp_path_factory.mktemp("clickhouse"))
    yield server.start()
    server.stop()


@pytest.fixture
def clickhouse_url(clickhouse_server: ClickHouseServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a database of this test's own. Nothing rests between two inserts."""
    monkeypatch.setattr(clickhouse_ingest, "REST_SECONDS", 0)
    name = f"test_{uuid.uuid4().hex}"
    url = clickhouse_server.database(name)
    make_tables(clickhouse_of(url))
    yield url
    clickhouse_of.cache_clear()
    clickhouse_server.query(f"DROP DATABASE IF EXISTS {name}")


@pytest.fixture
def store(request: pytest.FixtureRequest) -> str:
    """Where the clicks are."""
    return getattr(request, "param", "sqlite")


@pytest.fixture
def database(store: str) -> str:
    """Where everything else is."""
    return "postgresql" if store == "postgresql" else "sqlite"


@pytest.fixture
def database_url(
    store: str, database_url: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> str:
    if store == "clickhouse":
        url = request.getfixturevalue("clickhouse_url")
        request.node.add_marker(pytest.mark.settings(CLICKS_URL=url))
    return database_url
