"""Single clicks by batches of their ids, in ClickHouse: for the feed of events."""

from __future__ import annotations

from collections.abc import Sequence

from app.analytics.batches import TOLD
from app.analytics.click_reader import ClickBatch, ToldClick
from app.analytics.clickhouse.conditions import kept_between
from app.analytics.clickhouse.counting import Counting
from app.analytics.periods import DAY_MS

COLUMNS = (
    "id",
    "time_ms",
    "link_id",
    "is_bot",
    *("language" if name == "browser_language" else name for name in TOLD),
)


def told_clicks(
    counting: Counting, workspace_id: int, batches: Sequence[ClickBatch], link_id: int | None
) -> list[ToldClick]:
    """The times of the batches choose the parts to be read: rows are in the order of their links."""
    first = min(batch.first_ms for batch in batches) // DAY_MS
    last = max(batch.last_ms for batch in batches) // DAY_MS
    mine = [
        f"user_id = {workspace_id:d}",
        kept_between(counting.shelves(workspace_id), first, last),
        f"({' OR '.join(map(within, batches))})",
    ]
    if link_id is not None:
        mine.append(f"link_id = {link_id:d}")
    found = counting.server.query(
        f"SELECT {', '.join(COLUMNS)} FROM click WHERE {' AND '.join(mine)} ORDER BY id"
    )
    return [
        ToldClick(id_, time_ms, link, bool(is_bot), tuple(text or None for text in texts))
        for id_, time_ms, link, is_bot, *texts in found
    ]


def within(batch: ClickBatch) -> str:
    times = f"time_ms >= {batch.first_ms:d} AND time_ms <= {batch.last_ms:d}"
    return f"({times} AND id >= {batch.first_id:d} AND id <= {batch.last_id:d})"
