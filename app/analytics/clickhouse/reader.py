"""Reads clicks in ClickHouse: what `SqlReader` says of its methods holds here.

A figure is one statement over roll-ups and single clicks, because a page waits for each answer. Numbers stand
in the text of a statement, texts are parameters.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from sqlalchemy import select

from app.analytics import day_state
from app.analytics.click_reader import (
    ClickBatch,
    Counts,
    LatestVisit,
    Quarters,
    Shares,
    ToldClick,
    VisitPage,
)
from app.analytics.clickhouse.client import clickhouse_of
from app.analytics.clickhouse.tables import VALUES, counted, numbers, removed_shelves
from app.analytics.dimensions import DIMENSIONS
from app.analytics.periods import DAY_MS, QUARTER_MS, QUARTERS, Period
from app.analytics.query import StatisticsQuery, covered_after
from app.analytics.scope import BATCH_SIZE, NONE, Bind, Scope, VisitCounts, add_counts
from app.analytics.single_clicks import MINUTE_MS, TOLD, WORDS
from app.core.clock import written_ms
from app.links.models import Link
from app.redirects.user_agent import Device

PAGE_SIZE = 5000
SHOWN = (
    "device_type", "os_name", "browser_name", "country_code", "city_name", "language", "referrer_host",
    "referrer_path", "utm_source", "destination", "bot_name",
)  # fmt: skip
LANGUAGE = {"browser_language": "language"}
EXPORTED = ", ".join(LANGUAGE.get(name, name) for name in WORDS)
IN_EVENTS = ", ".join(LANGUAGE.get(name, name) for name in TOLD)
Found = dict[Any, VisitCounts]


class ClickHouseReader:
    """Reads the clicks there, and through `bind` which links exist. Raises StatisticsUnavailable."""

    def __init__(self, address: str, bind: Bind) -> None:
        self._server, self._bind = clickhouse_of(address), bind

    @cached_property
    def _removed(self) -> str:
        return numbers(removed_shelves(self._server))

    # --- what there is

    def first_day(self, workspace_id: int) -> int | None:
        first = f"SELECT minOrNull(quarter) FROM quarter WHERE user_id = {workspace_id:d} AND link = 0"
        [(found,)] = self._server.query(first)
        return None if found is None else int(found) // QUARTERS

    def has_visits(self, link_ids: Sequence[int]) -> bool:
        parts = Scope(0, tuple(link_ids)).parts
        some = "SELECT 1 FROM quarter WHERE link IN {} LIMIT 1"
        return any(self._server.query(some.format(numbers(part.link_ids or ()))) for part in parts)

    def count_rows(self, workspace_id: int) -> int:
        kept = f"user_id = {workspace_id:d} AND shelf NOT IN {self._removed}"
        return int(self._server.query(f"SELECT count() FROM click WHERE {kept}")[0][0])

    def last_pruned(self, workspace_id: int, first: int, last: int) -> int | None:
        begin, end = first // QUARTERS * QUARTERS, -(-last // QUARTERS) * QUARTERS
        rolled = self._rolled(Scope(workspace_id, is_bot=None), begin, end, DIMENSIONS["country_code"].number)
        [(found,)] = self._server.query(f"SELECT maxOrNull(quarter) FROM ({rolled})")
        return None if found is None else int(found) // QUARTERS

    # --- counts

    def by_day(self, scope: Scope, period: Period) -> list[VisitCounts]:
        key = f"roundDown(quarter, {period.begins})"
        found = self._totals(scope, period.first, period.last, key)
        return [found.get(begin, NONE) for begin in period.begins[:-1]]

    def by_quarter(self, scope: Scope, first: int, last: int) -> Quarters:
        found = self._count if scope.filters else self._totals
        return dict(sorted(found(scope, first, last, "quarter").items()))

    def of_filter(self, scope: Scope, first: int, last: int) -> Quarters:
        [name] = scope.filters
        days = self._rolled_days(scope, first, last)
        many = days if sum(days.values()) > day_state.MOST_FILTERED else {}
        number = DIMENSIONS[name].number
        found = self._count(scope, first, last, "quarter", VALUES[name], number, many)
        return dict(sorted(found.items()))

    def of_links(self, links: Sequence[int], period: Period) -> dict[int, list[int]]:
        key = f"(link, roundDown(quarter, {period.begins}))"
        found = self._sums(Scope(0, tuple(links)), period.first, period.last, key)
        return {id_: [found.get((id_, begin), NONE)[0] for begin in period.begins[:-1]] for id_ in links}

    def by_link(self, scope: Scope, first: int, last: int) -> dict[int, int]:
        return {id_: count[0] for id_, count in self._by_link(scope, first, last).items()}

    def by_value(self, scope: Scope, name: str, first: int, last: int) -> Shares:
        if [*scope.filters] == [name]:
            counts = add_counts(self.of_filter(scope, first, last).values())
            return {scope.filters[name] or "": counts} if counts.pageviews else {}
        if scope.filters:  # no roll-up holds combinations of values
            return self._count(scope, first, last, "value", VALUES[name])
        days = self._rolled_days(scope, first, last)
        return self._count(scope, first, last, "value", VALUES[name], DIMENSIONS[name].number, days)

    def rank_values(self, found: Shares, limit: int) -> list[tuple[str | None, VisitCounts]]:
        named = [(value or None, count) for value, count in found.items()]
        named.sort(key=lambda pair: (-pair[1].pageviews, -pair[1].visitors, pair[0] is None, pair[0] or ""))
        return named[:limit]

    def top_links(self, asked: StatisticsQuery) -> Counts:
        scope, first, last = asked.scope, asked.period.first, asked.period.last
        if scope.filters:
            first = covered_after(self.last_pruned(asked.workspace_id, first, last), asked)[0]
            found = self._by_link(scope, first, last)
            return self._existing(scope, in_order(found), asked.limit)[: asked.limit]
        # clicks of all links by their sums; visitors of those that can be among the first
        clicks = in_order(self._sums(scope, first, last, "link"))
        most = tuple(link_id for link_id, _ in self._existing(scope, clicks, asked.limit))
        return in_order(self._totals(replace(scope, link_ids=most), first, last, "link"))[: asked.limit]

    def by_minute(self, asked: StatisticsQuery, now: dt.datetime, minutes: int) -> list[VisitCounts]:
        last = int(now.timestamp() * 1000) // MINUTE_MS
        first = last - minutes + 1
        unit, begin, end = f"intDiv(time_ms, {MINUTE_MS})", first * MINUTE_MS, (last + 1) * MINUTE_MS
        found: Found = {}
        for part in asked.scope.parts:
            rows = counted(f"{self._kept(part, begin, end)} AND time_ms >= {begin:d}", unit=unit)
            self._add(found, part, grouped("quarter", first, last + 1, rows))
        return [found.get(minute, NONE) for minute in range(first, last + 1)]

    # --- single clicks

    def latest_visits(self, asked: StatisticsQuery, limit: int = 20) -> list[LatestVisit]:
        """Looks at the last day first: clicks are kept by link, so a longer time means reading all of it."""
        first, last = asked.period.first * QUARTER_MS, asked.period.last * QUARTER_MS
        begin, days = last, 1
        found: list[tuple[Any, ...]] = []
        while begin > first and len(found) < limit:
            begin, days, found = max(first, last - days * DAY_MS), days * 8, []
            for part in asked.scope.parts:
                where = f"{self._kept(part, begin, last)} AND time_ms >= {begin:d}"
                order = f"ORDER BY time_ms DESC, id DESC LIMIT {limit:d}"
                found += self._clicks(part, f"time_ms, id, link_id, {', '.join(SHOWN)}", where, order)
        return [make_visit(row) for row in sorted(found, key=lambda row: (-row[0], -row[1]))[:limit]]

    def latest_click(self, link_id: int) -> dt.datetime | None:
        scope = Scope(0, (link_id,))
        [(found,)] = self._clicks(scope, "maxOrNull(time_ms)", self._kept(scope, 0, 2**62))
        return None if found is None else dt.datetime.fromtimestamp(found // 1000, dt.UTC)

    def visit_page(self, scope: Scope, asked: StatisticsQuery, after: tuple[int, int]) -> VisitPage:
        """Looks at a day first and then at more: without an order by time, each look reads all of its day."""
        end, last, days = after[0], asked.period.last * QUARTER_MS, 1
        found: list[tuple[Any, ...]] = []
        while end < last and len(found) < PAGE_SIZE:
            end, days = min(after[0] + days * DAY_MS, last), days * 2
            where = f"{self._kept(scope, after[0], end)} AND (time_ms, id) > ({after[0]:d}, {after[1]:d})"
            order = f"ORDER BY time_ms, id LIMIT {PAGE_SIZE}"
            found = self._clicks(scope, f"time_ms, id, link_id, is_bot, {EXPORTED}", where, order)
        rows = [[written_ms(row[0]), row[2], int(row[3]), *row[4:]] for row in found]
        return VisitPage(rows, (found[-1][0], found[-1][1]) if len(found) == PAGE_SIZE else None)

    def told_clicks(
        self, workspace_id: int, batches: Sequence[ClickBatch], link_id: int | None = None
    ) -> list[ToldClick]:
        """The times of the batches choose the parts to be read: rows are in the order of their links."""
        scope = Scope(workspace_id, None if link_id is None else (link_id,), None)
        first, last = min(batch.first_ms for batch in batches), max(batch.last_ms for batch in batches)
        within = " OR ".join(
            f"(time_ms BETWEEN {batch.first_ms:d} AND {batch.last_ms:d}"
            f" AND id BETWEEN {batch.first_id:d} AND {batch.last_id:d})"
            for batch in batches
        )
        where = f"{self._kept(scope, first, last + 1)} AND ({within})"
        found = self._clicks(scope, f"id, time_ms, link_id, is_bot, {IN_EVENTS}", where, "ORDER BY id")
        return [
            ToldClick(id_, time_ms, link, bool(is_bot), tuple(text or None for text in texts))
            for id_, time_ms, link, is_bot, *texts in found
        ]

    # --- statements

    def _clicks(self, scope: Scope, columns: str, where: str, order: str = "") -> list[tuple[Any, ...]]:
        return self._server.query(f"SELECT {columns} FROM click WHERE {where} {order}", **values_of(scope))

    def _add(self, found: Found, scope: Scope, statement: str) -> None:
        for key, pageviews, visitors in self._server.query(statement, **values_of(scope)):
            found[key] = add_counts([found.get(key, NONE), VisitCounts(int(pageviews), int(visitors))])

    def _count(
        self,
        scope: Scope,
        first: int,
        last: int,
        key: str,
        value: str = "''",
        dimension: int | None = None,
        days: Collection[int] = (),
    ) -> Found:
        """By `key`, from single clicks; with a dimension, removed shelves and these days from roll-ups."""
        links = "[0]" if scope.link_ids is None else "[link_id]"
        found: Found = {}
        for part in scope.parts:
            kept = self._kept(part, first * QUARTER_MS, last * QUARTER_MS, days)
            rows = counted(kept, value, links=links)
            if dimension is not None:
                rows += f" UNION ALL {self._rolled(part, first, last, dimension, days)}"
            self._add(found, part, grouped(key, first, last, rows))
        return found

    def _totals(self, scope: Scope, first: int, last: int, key: str) -> Found:
        """Without filters."""
        days = self._rolled_days(scope, first, last)
        return self._count(scope, first, last, key, dimension=0, days=days)

    def _by_link(self, scope: Scope, first: int, last: int) -> Found:
        found = self._count(scope, first, last, "value", "link_id")
        return {int(link_id): count for link_id, count in found.items()}

    def _rolled(self, scope: Scope, first: int, last: int, dimension: int, days: Collection[int] = ()) -> str:
        own = f"shelf IN {numbers(days)} AND intDiv(quarter, {QUARTERS}) = shelf"
        value = " AND value = {f0:String}" if scope.filters else ""
        return (
            "SELECT link, value, quarter, pageviews, visitors FROM day FINAL"
            f" WHERE {of_sums(scope, first, last)} AND dimension = {dimension:d}{value}"
            f" AND (shelf IN {self._removed} OR {own})"
        )

    def _sums(self, scope: Scope, first: int, last: int, key: str) -> Found:
        """Clicks by `key`, of each link."""
        found: Found = {}
        for part in scope.parts:
            where = of_sums(part, first, last, "link != 0")
            self._add(
                found, part, f"SELECT {key} AS k, sum(pageviews), 0 FROM quarter WHERE {where} GROUP BY k"
            )
        return found

    def _kept(self, scope: Scope, first_ms: int, last_ms: int, days: Iterable[int] = ()) -> str:
        """Single clicks on shelves that are not removed, from the beginning of the UTC day on in which the
        time begins. Without those of these days."""
        partitions = ", ".join(f"'{day}-{day}'" for day in days)
        return " AND ".join(
            [
                *whose(scope, "link_id"),
                *(f"{VALUES[name]} = {{f{number}:String}}" for number, name in enumerate(scope.filters)),
                f"time_ms >= {first_ms // DAY_MS * DAY_MS:d} AND time_ms < {last_ms:d}",
                f"shelf NOT IN {self._removed}",
                *([f"_partition_id NOT IN ({partitions})"] if partitions else []),
            ]
        )

    def _rolled_days(self, scope: Scope, first: int, last: int) -> dict[int, int]:
        """The whole days whose roll-ups hold exactly the clicks that there are, and how many.

        Links have no roll-ups before their clicks are removed.
        """
        begin, end = -(-first // QUARTERS), last // QUARTERS
        if scope.link_ids is not None or begin >= end:
            return {}
        mine = f"user_id = {scope.workspace_id:d}"
        held = (
            f"SELECT shelf, max(clicks) AS held FROM rolled WHERE {mine} AND shelf >= {begin:d}"
            f" AND shelf < {end:d} AND shelf NOT IN {self._removed} GROUP BY shelf"
        )
        there = (
            f"SELECT intDiv(quarter, {QUARTERS}) AS day, sum(pageviews) AS there FROM quarter"
            f" WHERE {mine} AND link = 0 AND quarter >= {begin * QUARTERS:d}"
            f" AND quarter < {end * QUARTERS:d} GROUP BY day"
        )
        both = f"({held}) AS h JOIN ({there}) AS t ON h.shelf = t.day WHERE held = there"
        return {
            int(day): int(clicks) for day, clicks in self._server.query(f"SELECT shelf, held FROM {both}")
        }

    def _existing(self, scope: Scope, ordered: Counts, limit: int) -> Counts:
        """The first of these links that exist, and those with as many clicks as the last of them."""
        found: Counts = []
        for start in range(0, len(ordered), BATCH_SIZE):
            some = ordered[start : start + BATCH_SIZE]
            there: Collection[int] = scope.link_ids or ()  # the caller has checked these
            if scope.link_ids is None:
                mine = Link.workspace_id == scope.workspace_id, Link.id.in_([row[0] for row in some])
                there = set(self._bind.scalars(select(Link.id).where(*mine)))
            for link_id, count in some:
                if link_id in there:
                    if len(found) >= limit and count.pageviews != found[limit - 1][1].pageviews:
                        return found
                    found.append((link_id, count))
        return found


def values_of(scope: Scope) -> dict[str, str]:
    return {f"f{number}": value or "" for number, value in enumerate(scope.filters.values())}


def whose(scope: Scope, link: str) -> list[str]:
    return [
        *([f"user_id = {scope.workspace_id:d}"] if scope.workspace_id else []),
        *([f"{link} IN {numbers(scope.link_ids)}"] if scope.link_ids is not None else []),
        *([f"is_bot = {scope.is_bot:d}"] if scope.is_bot is not None else []),
    ]


def of_sums(scope: Scope, first: int, last: int, all_links: str = "link = 0") -> str:
    """Rows of `quarter` or `day`."""
    links = [all_links] if scope.link_ids is None else []
    return " AND ".join([*whose(scope, "link"), *links, f"quarter >= {first:d} AND quarter < {last:d}"])


def grouped(key: str, first: int, last: int, rows: str) -> str:
    inside = f"quarter >= {first:d} AND quarter < {last:d}"
    return f"SELECT {key} AS k, sum(pageviews), sum(visitors) FROM ({rows}) WHERE {inside} GROUP BY k"


def in_order(found: Found) -> Counts:
    return sorted(found.items(), key=lambda one: (-one[1].pageviews, -one[1].visitors, one[0]))


def make_visit(row: tuple[Any, ...]) -> LatestVisit:
    when = dt.datetime.fromtimestamp(row[0] // 1000, dt.UTC)
    words = dict(zip(SHOWN[3:], row[6:], strict=True))
    return LatestVisit(id=row[1], datetime=when, link_id=row[2], device=Device(*row[3:6]), **words)
