"""The upkeep of the store in which the clicks are."""

from __future__ import annotations

import datetime as dt
from typing import Protocol

from app.analytics.clickhouse.upkeep import ClickHouseUpkeep
from app.analytics.upkeep import Upkeep
from app.core.config import Settings


class AnyUpkeep(Protocol):
    def step(self, now: dt.datetime) -> bool:
        """Does a small part of what is due; returns whether there was any."""

    def close(self) -> None: ...


def open_upkeep(settings: Settings) -> AnyUpkeep:
    return UpkeepOfBoth(settings) if settings.clickhouse_url else Upkeep(settings)


class UpkeepOfBoth:
    """Upkeep of ClickHouse, and of what SQL still has from before."""

    def __init__(self, settings: Settings) -> None:
        self._stores = ClickHouseUpkeep(settings), Upkeep(settings)

    def step(self, now: dt.datetime) -> bool:
        return any([store.step(now) for store in self._stores])  # noqa: C419  each takes its step

    def close(self) -> None:
        for store in self._stores:
            store.close()
