"""Ingest of clicks on links with a click limit into ClickHouse, each exactly once.

A batch is what `limited_taken` holds: its ids are committed there, with an intent, before it is inserted. The
next one is taken only when that one is done and its source rows are removed.
"""

from __future__ import annotations

import time
from pathlib import Path

from sqlalchemy import Engine, insert

from app.analytics import counters
from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.intents import Intent, find_intent, note_intent, remove_intent
from app.analytics.clickhouse.rows import insert_clicks, note_entries
from app.analytics.clickhouse.shelves import removed_shelves
from app.analytics.limited import SOURCE, TAKEN, LimitedVisits, advance_generation
from app.analytics.periods import DAY_MS
from app.core.config import Settings


class LimitedToClickHouse(LimitedVisits):
    def __init__(self, settings: Settings, clicks: Engine, directory: Path, server: ClickHouse) -> None:
        super().__init__(settings, clicks, directory)
        self._server = server

    def step_with(self, retention: int) -> bool:
        """Takes a batch, or goes on with the one that is taken; returns whether one was inserted."""
        generation, taken = self._state()
        intent = self._pending()
        if intent is None:
            if taken or not self.is_waiting():
                return False
            intent = self._take(generation)
        if intent is None:
            return False
        _, taken = self._state()
        visits = [visit for visit in self.visits_of(sorted(taken)).values() if visit]
        removed = removed_shelves(self._server)
        insert_clicks(self._server, intent.token, visits, intent.day, removed, retention)
        with self._clicks.begin() as connection:
            if remove_intent(connection, intent):
                note_entries(connection, intent.token, visits)
        return True

    def remove_taken(self) -> None:
        """Deletes the source rows of a batch that is inserted."""
        if self._pending() is None:
            super().remove_taken()

    def _pending(self) -> Intent | None:
        with self._clicks.connect().execution_options(reads=True) as connection:
            return find_intent(connection, SOURCE)

    def _take(self, generation: int) -> Intent | None:
        found = self._waiting(frozenset())
        if not found:
            return None
        intent = Intent(SOURCE, int(time.time() * 1000) // DAY_MS, generation, generation + 1)
        with self._clicks.begin() as connection:
            advance_generation(connection, generation)
            connection.execute(insert(TAKEN), [{"id": id_} for id_ in found])
            counters.add_damaged(connection, sum(visit is None for visit in found.values()))
            note_intent(connection, intent)
        return intent
