"""Counting: an error in a segment, a line, a source or an owner's day holds up no other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from app.analytics import (
    counters,
    ingest,
    rollup,
    upkeep,
)
from app.analytics import rows as click_rows
from app.analytics.rollup_models import OwnerDay, Seen
from app.core.clock import now
from app.core.config import Settings
from app.journal import reader as journal_reader
from app.journal import segments
from app.journal.codec import NEWEST, Visit, encode
from app.journal.writer import Journal
from tests.analytics.conftest import Tables
from tests.loops.conftest import ERRORS, raiser

STEPS = 4  # counters, rows of each segment, and one further row
TENDING = ("hindrance", "sync", "finished segments", "ingested clicks of limited links", "drafts", "reserve")


def line_of(link_id: int) -> bytes:
    return encode(Visit(time.time_ns() // 1_000_000, link_id, link_id, 0))


@pytest.fixture
def taken(settings: Settings, session: Session) -> Iterator[ingest.Ingest]:
    found = ingest.Ingest(settings)
    yield found
    found.close()


@pytest.fixture
def tables(settings: Settings, taken: ingest.Ingest) -> Iterator[Tables]:
    tables = Tables(settings)
    yield tables
    tables.engine.dispose()


@pytest.fixture
def two_segments(settings: Settings) -> list[str]:
    """Two segments whose writers have ended, with one visit each: of link 1, and of link 2."""
    directory = segments.directory_of(settings.data_dir)
    for link_id in (1, 2):
        journal = Journal(directory)
        journal.append(line_of(link_id))
        journal.close()
    return segments.list_segments(directory)


@pytest.mark.parametrize("where", ["reading", "counting", "rows"])
def test_a_segment(
    taken: ingest.Ingest, two_segments: list[str], tables: Tables, throw: Any, where: str
) -> None:
    bad = two_segments[0]
    if where == "reading":
        throw(journal_reader, "read", lambda _directory, name, *_: name == bad)
    elif where == "counting":
        throw(counters, "count_chunks", lambda _c, _d, chunks: bad in {chunk.name for chunk in chunks})
    else:
        throw(click_rows, "append_clicks", lambda _c, _t, visits: 1 in {visit.link_id for visit in visits})
    for _ in range(STEPS):
        taken.step()
    assert [link for _, link in tables.rows()] == [2]
    assert tables.counters() == ({1: 1, 2: 1} if where == "rows" else {2: 1})


@pytest.fixture
def decode_fails(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Decoding lines of link 1 raises an unexpected error."""

    def patch(module: Any) -> None:
        known = module.FORMATS[NEWEST]

        def decode(line: bytes) -> Visit | None:
            visit: Visit | None = known.decode(line)
            if visit and visit.link_id == 1:
                raise KeyError("country")
            return visit

        monkeypatch.setitem(module.FORMATS, NEWEST, known._replace(decode=decode))

    return patch


def test_a_line(
    taken: ingest.Ingest, two_segments: list[str], tables: Tables, decode_fails: Callable[[Any], None]
) -> None:
    decode_fails(journal_reader)
    for _ in range(STEPS):
        taken.step()
    assert [link for _, link in tables.rows()] == [2]


def test_steps_beside_the_visits(taken: ingest.Ingest, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tuple(taken.tending()) == TENDING, "one was added: nothing to change but this"
    for make_error in ERRORS.values():
        for bad in TENDING:
            done: list[str] = []
            steps: dict[str, Any] = {name: partial(done.append, name) for name in TENDING}
            steps[bad] = raiser(make_error)
            monkeypatch.setattr(taken, "tending", partial(dict, steps))
            taken.errors.forget()
            taken.tend()
            assert done == [name for name in TENDING if name != bad]


@pytest.mark.parametrize("what", ["prune", "roll", "forget who came"])
def test_a_step_of_the_upkeep(
    settings: Settings, session: Session, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in one step of the upkeep: of two owners' days, or of two kinds of due work."""
    monkeypatch.setattr(upkeep, "REST_SECONDS", 0.0)
    steps = upkeep.Upkeep(settings)
    day = upkeep.day_number(now().date()) - (400 if what != "roll" else 3)
    visits = {"day": day, "visits": 300, "rolled": None, "is_pruned": False}
    with steps._engine.begin() as connection:
        connection.execute(insert(OwnerDay), [{"workspace_id": one, **visits} for one in (1, 2)])
        if what == "forget who came":
            connection.execute(
                insert(Seen),
                [{"day": day, "visitor": "v", "is_workspace": False, "scope_id": 1, "quarter": 0}],
            )
    done: list[tuple[str, int]] = []

    def work(name: str) -> Callable[..., Iterator[None]]:
        def run(_engine: Any, user: int = 0, _day: int = 0) -> Iterator[None]:
            if name == what and user in {0, 1}:
                raise RecursionError
            done.append((name, user))
            yield

        return run

    for name, function in (("prune", "prune_day"), ("roll", "roll_up")):
        monkeypatch.setattr(rollup, function, work(name))
    if what == "forget who came":
        monkeypatch.setattr(upkeep, "with_rows_before", lambda *_: select(OwnerDay).where(OwnerDay.day < 0))
        monkeypatch.setattr(upkeep, "unrolled_before", lambda *_: select(OwnerDay))
        monkeypatch.setattr(upkeep, "forget_seen", lambda engine, _oldest: work(what)(engine))
    for _ in range(6):
        steps.step(now())
    steps.close()
    assert (("roll", 1) if what == "forget who came" else (what, 2)) in done
