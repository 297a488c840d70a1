"""What all tests of the client share: a started server, clients of it, and settings of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waypost_client import Client

from tests.instance import Waypost


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="the long tests, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--full"):
        for item in items:
            if item.get_closest_marker("full"):
                item.add_marker(pytest.mark.skip(reason="only with --full"))


@pytest.fixture(scope="session")
def waypost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Waypost]:
    made = Waypost(tmp_path_factory.mktemp("waypost") / "data")
    try:
        made.wait_until_ready()
        yield made
    finally:
        made.stop()
    assert made.server_errors() == []


@pytest.fixture
def client(waypost: Waypost) -> Iterator[Client]:
    with Client(waypost.url, waypost.key) as made:
        yield made


@pytest.fixture(scope="session")
def openapi(waypost: Waypost) -> Any:
    with Client(waypost.url, "") as made:
        return made.account.openapi()


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command keeps its profiles below the test's folder, and sees no key of the environment."""
    for name in ("WAY_KEY", "WAY_URL", "WAY_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
