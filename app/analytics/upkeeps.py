"""The upkeep of the store in which the clicks are."""

from __future__ import annotations

import datetime as dt
from typing import Protocol

from app.analytics.clickhouse.copying import is_copied
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
    """Upkeep of ClickHouse, and of what SQL still has from before, once that is copied.

    Until then nothing is removed there: a click must not move to the roll-ups while it is copied.
    """

    def __init__(self, settings: Settings) -> None:
        self._clickhouse, self._sql = ClickHouseUpkeep(settings), Upkeep(settings)

    def step(self, now: dt.datetime) -> bool:
        has_moved = self._clickhouse.step(now)
        if is_copied(self._clickhouse.engine):
            return self._sql.step(now) or has_moved
        return has_moved

    def close(self) -> None:
        self._clickhouse.close()
        self._sql.close()
