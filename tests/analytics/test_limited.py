"""Clicks on links with a click limit are ingested exactly once, whichever process is killed when."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select

from app.analytics import ingest as module
from app.analytics import limited
from app.analytics.ingest import Ingest
from app.analytics.models import IngestedLimitedClick
from app.analytics.offsets import Moved
from app.core.config import Settings
from app.core.file_locks import lock_file
from app.journal.codec import Visit, encode
from app.redirects.limits import WRITE, open_engine
from app.redirects.models import LimitedVisit
from tests.analytics.conftest import Tables, take_in
from tests.analytics.test_kills import Tallies, take_in_for_ever, wait_until
from tests.journal.children import Child, forks

KILLS, INGESTERS = 30, 2
Write = Callable[..., None]


@pytest.fixture
def main(settings: Settings) -> Iterator[Engine]:
    engine = open_engine(settings)
    yield engine
    engine.dispose()


@pytest.fixture
def write(main: Engine) -> Write:
    """`write(1, 2)`: writes clicks on a limited link at these times, in one transaction."""

    def write(*moments: int, version: str = ".v1", line: bytes | None = None) -> None:
        with main.execution_options(sqlite_begin="IMMEDIATE").begin() as connection:
            for moment in moments:
                made = encode(Visit(moment, 7, 1, 0, agent=f"agent {moment % 20}"))
                connection.execute(WRITE, {"version": version, "line": line or made})

    return write


def left(main: Engine) -> int:
    with main.connect() as connection:
        return connection.scalar(select(func.count()).select_from(LimitedVisit)) or 0


def moments(tables: Tables) -> list[int]:
    return [moment for moment, _link in tables.rows()]


@pytest.mark.databases
def test_they_become_rows_and_no_counter(ingest: Ingest, tables: Tables, write: Write, main: Engine) -> None:
    write(1, 2)
    write(3)
    take_in(ingest)
    assert moments(tables) == [1, 2, 3]
    assert tables.counters() == {}
    assert left(main) == 0
    assert tables.all(IngestedLimitedClick) == []


@pytest.mark.databases
def test_beside_the_journal(
    ingest: Ingest, tables: Tables, write: Write, visit: Callable[..., None], directory: Path
) -> None:
    visit(7, 7)
    write(11)
    take_in(ingest)
    assert sorted(moments(tables)) == [1, 2, 11]
    assert tables.counters() == {7: 2}
    assert ingest.status().rows.waiting_bytes == 0


@pytest.mark.databases
def test_many_at_once(
    ingest: Ingest, tables: Tables, write: Write, main: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limited, "BATCH_SIZE", 10)
    write(*range(35))
    take_in(ingest)
    assert moments(tables) == [*range(35)]
    assert left(main) == 0


@pytest.mark.databases
def test_nothing_is_deleted_during_a_backup(
    ingest: Ingest, tables: Tables, write: Write, main: Engine, directory: Path
) -> None:
    write(1)
    with lock_file(directory / "keep.lock"):
        take_in(ingest)
        assert left(main) == 1
        write(2)
        take_in(ingest)
        assert left(main) == 2
    take_in(ingest)
    assert left(main) == 0
    assert moments(tables) == [1, 2]


@pytest.mark.databases
def test_nothing_is_deleted_before_it_is_on_disk(
    ingest: Ingest, tables: Tables, write: Write, main: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(1)
    with monkeypatch.context() as patched:
        patched.setattr("app.analytics.engine.checkpoint_wal", lambda _engine: False)
        take_in(ingest)
        assert (moments(tables), left(main)) == ([1], 1)
    take_in(ingest)
    assert (moments(tables), left(main)) == ([1], 0)


@pytest.mark.databases
def test_what_a_newer_version_wrote_waits_and_what_is_damaged_is_told(
    ingest: Ingest, tables: Tables, write: Write, main: Engine
) -> None:
    write(1, version=".v9")
    write(2, line=b"\nno visit\n")
    write(3)
    take_in(ingest)
    assert moments(tables) == [3]
    assert tables.damaged() == 1
    assert left(main) == 1


STALE = ["nobody went on", "another took them in", "another took them in and deleted them"]


@pytest.mark.parametrize("moment", STALE)
@pytest.mark.databases
def test_one_that_is_overtaken_comes_to_nothing(
    moment: str,
    make_ingest: Callable[[], Ingest],
    tables: Tables,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The slow ingester has read what waits, and is held up until the other has finished."""
    slow, quick = make_ingest(), make_ingest()
    waiting = slow._limited._waiting

    def held_up(taken: frozenset[int]) -> object:
        found = waiting(taken)
        if moment != STALE[0]:
            assert quick._limited.step(quick._terms)
        if moment == STALE[2]:
            quick._limited.remove_taken()
        return found

    monkeypatch.setattr(slow._limited, "_waiting", held_up)
    write(1, 2)
    if moment == STALE[0]:
        assert slow._limited.step(slow._terms)
    else:
        with pytest.raises(Moved):
            slow._limited.step(slow._terms)
    take_in(quick)
    assert moments(tables) == [1, 2]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_lower_number_may_be_committed_later(
    ingest: Ingest, tables: Tables, write: Write, settings: Settings
) -> None:
    late = open_engine(settings)
    with late.begin() as connection:
        connection.execute(WRITE, {"version": ".v1", "line": encode(Visit(1, 7, 1, 0))})
        write(2)
        take_in(ingest)
        assert moments(tables) == [2]
    late.dispose()
    take_in(ingest)
    assert moments(tables) == [2, 1]


@forks
@pytest.mark.full
@pytest.mark.databases
def test_kills(
    settings: Settings, tables: Tables, main: Engine, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers ingest a continuous stream of clicks, and are killed again and again."""
    monkeypatch.setattr(module, "TEND_SECONDS", 0.0)
    monkeypatch.setattr(limited, "BATCH_SIZE", 7)
    chance, steps, written = random.Random(2), Tallies(), itertools.count()
    workers: dict[int, Child] = {}
    lives = iter(range(KILLS + INGESTERS))
    try:
        for _ in range(KILLS):
            while len(workers) < INGESTERS:
                life = next(lives)
                workers[life] = Child(lambda life=life: take_in_for_ever(settings, steps, life))
            life, least = chance.choice([*workers]), chance.randint(1, 12)

            def has_moved(life: int = life, least: int = least) -> bool:
                write(next(written), next(written), next(written))
                return steps[life] >= least

            wait_until(has_moved)
            workers.pop(life).kill()
    finally:
        for worker in workers.values():
            worker.kill()
    ingest = Ingest(settings)
    take_in(ingest)
    ingest.close()
    counts = Counter(moments(tables))
    assert {moment: n for moment, n in counts.items() if n != 1} == {}
    assert len(counts) == next(written) > KILLS * 3
    assert left(main) == 0
    assert tables.all(IngestedLimitedClick) == []
