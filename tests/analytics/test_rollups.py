"""Roll-ups include exactly the existing clicks, in whatever order these came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from sqlalchemy import delete, insert

from app.analytics import backfill
from app.analytics.ingest import Ingest
from app.analytics.models import Click, Position
from app.analytics.periods import DAY_MS, QUARTER_MS
from app.analytics.rollup_models import Agent, LinkQuarter, OwnerDay, OwnerQuarter, Seen
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.analytics.conftest import Tables, take_in
from tests.analytics.load import load
from tests.analytics.test_statistics import BEGIN, DAYS, LINKS

pytestmark = pytest.mark.databases
MODELS = (LinkQuarter, OwnerQuarter, OwnerDay, Seen, Agent)


def write(journal: Journal, visits: list[Visit]) -> None:
    assert all(journal.append(encode(visit)) for visit in visits)


def state(tables: Tables) -> list[set[tuple[object, ...]]]:
    """All sums; user agents by their texts, since their ids depend on the order of arrival."""
    words = tables.terms()
    agents = {tuple(words.get(each) for each in row) for row in tables.all(Agent)}
    # a quarter whose only visitor turned out to have come earlier equals one that never had a visitor
    return [*({*tables.all(model)} for model in MODELS[:-1]), agents]


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


def test_rows_from_before_are_rolled_up_in_the_background(
    make_ingest: Callable[[], Ingest], tables: Tables, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulates an update: there are rows but no sums, and new clicks come meanwhile."""
    monkeypatch.setattr(backfill, "BATCH_SIZE", 70)
    visits = load(400, BEGIN, DAYS, LINKS, Random(9))
    write(journal, visits)
    take_in(make_ingest())
    expected = state(tables)
    newest = max(id_ for (id_,) in tables.all(Click, "id"))
    with tables.engine.begin() as connection:
        for model in MODELS:
            connection.execute(delete(model))
        connection.execute(insert(Position).values(name=backfill.NAME, counters_offset=0, rows_offset=newest))
    ingest = make_ingest()
    assert ingest.step()
    write(journal, [visits[0]._replace(link_id=99), visits[1]._replace(link_id=99)])
    take_in(ingest)
    assert tables.positions()[backfill.NAME] == (newest, newest)
    assert sum(tables.sums("link_quarter").values()) == len(visits) + 2
    with tables.engine.begin() as connection:
        connection.execute(delete(LinkQuarter).where(LinkQuarter.link_id == 99))
    # the owner's sums have two more; a link's are unchanged
    assert state(tables)[0] == expected[0]
    assert state(tables)[-1] == expected[-1]
