"""Killed processes: every acknowledged click is counted exactly once, whichever process is killed when."""

from __future__ import annotations

import itertools
import mmap
import random
import signal
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.analytics import ingest as module
from app.analytics.ingest import Ingest
from app.analytics.rollup_models import LinkQuarter
from app.core.config import Settings
from app.journal import segments
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.analytics.conftest import Tables, take_in
from tests.journal.children import Child, forks

pytestmark = pytest.mark.full

WRITERS, INGESTERS = 2, 2
KILLS = 40
VISITS = 400  # clicks of one writer at most: more would test nothing else
SECONDS = 30
NUMBER = struct.Struct("=q")


class Tallies:
    """Numbers in shared memory; each has one writing process and outlives it."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, NUMBER.size * (KILLS + WRITERS + INGESTERS))

    def __getitem__(self, place: int) -> int:
        return int(NUMBER.unpack_from(self.memory, place * NUMBER.size)[0])

    def __setitem__(self, place: int, number: int) -> None:
        NUMBER.pack_into(self.memory, place * NUMBER.size, number)


def write(directory: Path, acknowledged: Tallies, life: int) -> None:
    """A web process: writes clicks on link `life`, numbered by time, and counts the acknowledged ones."""
    journal = Journal(directory, segment_bytes=10_000)
    for number in range(VISITS):
        assert journal.append(
            encode(
                Visit(number, life, 1, 0, visitor=f"{life} {number}", agent=f"agent {number % 20} of {life}")
            )
        )
        acknowledged[life] = number + 1
    while True:
        signal.pause()


def take_in_for_ever(settings: Settings, steps: Tallies, life: int) -> None:
    """A worker that does its periodic tasks at every step, so that kills hit these too."""
    ingest = Ingest(settings)
    for step in itertools.count(1):
        ingest.step()
        steps[life] = step


class Crowd:
    """Processes that are killed and replaced by new ones. A life is a process's number."""

    def __init__(self, settings: Settings, directory: Path) -> None:
        self.acknowledged, self.steps = Tallies(), Tallies()
        self.lives = itertools.count()
        self.writers: dict[int, Child] = {}
        self.ingesters: dict[int, Child] = {}
        self.start_writer = lambda life: Child(lambda: write(directory, self.acknowledged, life))
        self.start_ingester = lambda life: Child(lambda: take_in_for_ever(settings, self.steps, life))

    def fill(self) -> None:
        while len(self.writers) < WRITERS:
            self.writers[life] = self.start_writer(life := next(self.lives))
        while len(self.ingesters) < INGESTERS:
            self.ingesters[life] = self.start_ingester(life := next(self.lives))

    def kill_one(self, chance: random.Random) -> None:
        living, tallies, most = chance.choice(
            [(self.writers, self.acknowledged, VISITS), (self.ingesters, self.steps, 8)]
        )
        life, least = chance.choice([*living]), chance.randint(1, most)
        wait_until(lambda: tallies[life] >= least)
        living.pop(life).kill()

    def end(self) -> None:
        for living in (self.writers, self.ingesters):
            while living:
                living.popitem()[1].kill()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "nothing moves"
        time.sleep(0.0005)


@pytest.fixture
def crowd(settings: Settings, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crowd]:
    monkeypatch.setattr(module, "TEND_SECONDS", 0.0)
    monkeypatch.setattr(module, "ROW_BYTES", 20_000)
    crowd = Crowd(settings, directory)
    yield crowd
    crowd.end()


@forks
@pytest.mark.databases
def test_kills(crowd: Crowd, settings: Settings, directory: Path, tables: Tables) -> None:
    chance = random.Random(1)
    for _ in range(KILLS):
        crowd.fill()
        crowd.kill_one(chance)
    crowd.end()
    ingest = Ingest(settings)
    take_in(ingest)
    ingest.close()

    rows: dict[int, list[int]] = defaultdict(list)
    for number, life in tables.rows():
        rows[life].append(number)
    for life in range(KILLS):
        # the last click may have been written, and its writer killed before it could acknowledge that
        written = len(rows[life])
        assert written - crowd.acknowledged[life] in {0, 1}
        assert sorted(rows[life]) == [*range(written)], "each once, none left out"
        assert tables.counters().get(life, 0) == written
    assert sum(map(len, rows.values())) > KILLS
    assert tables.sums("link_quarter") == {life: len(numbers) for life, numbers in rows.items() if numbers}
    assert tables.all(LinkQuarter, "pageviews") == tables.all(LinkQuarter, "visitors")
    assert tables.sums("owner_quarter") == tables.sums("owner_day") == {1: sum(map(len, rows.values()))}
    assert tables.damaged() == 0
    assert segments.list_segments(directory) == []
