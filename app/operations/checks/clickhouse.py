"""Checks the ClickHouse that CLICKS_URL names."""

from __future__ import annotations

from collections.abc import Iterator

from app.analytics.clickhouse.client import StatisticsUnavailable, clickhouse_of
from app.core.config import Settings
from app.operations.checks.finding import Finding, ok, plural, problem

SUMS = """
    SELECT version(), sumIf(pageviews, link = 0), sumIf(pageviews, link != 0) FROM quarter
"""


def clickhouse_check(settings: Settings) -> Iterator[Finding]:
    """Whether it answers, and its sums agree."""
    if settings.clickhouse_url is None:
        return
    try:
        [(version, of_owners, of_links)] = clickhouse_of(settings.clickhouse_url).query(SUMS)
    except StatisticsUnavailable as error:
        said = str(error.__cause__).partition("\n")[0][:300]
        yield problem(
            f"ClickHouse gives no answer, or has no tables: {said}",
            "Clicks wait in the journal, and none is lost. The worker makes the tables when it starts.",
        )
        return
    if of_owners == of_links:
        yield ok(f"ClickHouse {version} answers; it has {plural(int(of_links), 'click')}, including bots.")
    else:
        yield problem(
            f"Sums in ClickHouse differ: {of_links:,} by link, {of_owners:,} by owner.",
            "Say so to the makers, with this line.",
        )
