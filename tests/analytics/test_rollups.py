"""Roll-ups include exactly the existing clicks, in whatever order these came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from app.analytics.ingest import Ingest
from app.analytics.periods import DAY_MS, QUARTER_MS
from app.analytics.rollup_models import LinkQuarter, OwnerDay, OwnerQuarter
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.analytics.conftest import Tables, take_in
from tests.analytics.load import BEGIN, DAYS, LINKS, load

pytestmark = pytest.mark.databases


def write(journal: Journal, visits: list[Visit]) -> None:
    assert all(journal.append(encode(visit)) for visit in visits)


def test_sums_of_a_few(ingest: Ingest, tables: Tables, visit: Callable[..., None]) -> None:
    visit(7, 7, 8, visitor="a")
    visit(7, visitor="b")
    visit(7)
    visit(7, is_bot=1, visitor="c")
    visit(7, time_ms=QUARTER_MS, visitor="a")
    visit(7, time_ms=DAY_MS, visitor="a")
    take_in(ingest)
    assert tables.all(LinkQuarter) == [
        (7, False, 0, 4, 2),
        (7, False, 1, 1, 0),
        (7, False, 96, 1, 1),
        (7, True, 0, 1, 1),
        (8, False, 0, 1, 1),
    ]
    assert tables.all(OwnerQuarter) == [
        (1, False, 0, 5, 2),
        (1, False, 1, 1, 0),
        (1, False, 96, 1, 1),
        (1, True, 0, 1, 1),
    ]
    assert tables.all(OwnerDay) == [(1, 0, 7, None, False), (1, 1, 1, None, False)]


def test_a_visitor_taken_in_late_counts_where_he_came_first(
    ingest: Ingest, tables: Tables, visit: Callable[..., None]
) -> None:
    for quarter in (5, 3, 4, 1):
        visit(7, time_ms=quarter * QUARTER_MS, visitor="a")
        take_in(ingest)
    assert tables.all(LinkQuarter, "quarter", "pageviews", "visitors") == [
        (1, 1, 1),
        (3, 1, 0),
        (4, 1, 0),
        (5, 1, 0),
    ]


def test_no_order_makes_a_difference(
    make_ingest: Callable[[], Ingest], tables: Tables, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many transactions in one order, and one in another order, both give the sums of a plain count."""
    monkeypatch.setattr("app.analytics.ingest.ROW_BYTES", 20_000)
    visits = load(600, BEGIN, DAYS, LINKS, Random(8))
    write(journal, visits)
    take_in(make_ingest())
    first: dict[tuple[int, str, int], int] = {}
    pageviews: Counter[tuple[int, bool, int]] = Counter()
    for visit in visits:
        quarter = visit.time_ms // QUARTER_MS
        pageviews[visit.link_id, bool(visit.is_bot), quarter] += 1
        who = (visit.time_ms // DAY_MS, visit.visitor, visit.link_id)
        first[who] = min(first.get(who, quarter), quarter)
    is_bot = {visit.visitor: bool(visit.is_bot) for visit in visits}
    visitors = Counter((link_id, is_bot[who], quarter) for (_, who, link_id), quarter in first.items())
    assert tables.all(LinkQuarter) == [
        (*place, pageviews[place], visitors[place]) for place in sorted(pageviews)
    ]
