"""Fixtures of the contract test: the same clicks in SQLite, in PostgreSQL and in ClickHouse."""

from __future__ import annotations

import pytest

STORES = ("sqlite", "postgresql", "clickhouse")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store" in metafunc.fixturenames and not is_chosen(metafunc):
        metafunc.parametrize("store", STORES, indirect=True)


def is_chosen(metafunc: pytest.Metafunc) -> bool:
    """Whether the module or the test itself says which stores it is for."""
    is_own = any(mark.args[0] == "store" for mark in metafunc.definition.iter_markers("parametrize"))
    return is_own or hasattr(metafunc.module, "store") or hasattr(metafunc.module, "pytestmark")


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
