"""Fixtures of the analytics tests: a journal to write, ingesters that read it, and access to the tables."""

from __future__ import annotations

import uuid
from collections import Counter as Tally
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table, select

from app.accounts.models import User
from app.analytics.clickhouse import writer
from app.analytics.clickhouse.client import clickhouse_of
from app.analytics.clickhouse.tables import make_tables
from app.analytics.engine import open_engine
from app.analytics.ingest import Ingest
from app.analytics.journal_import import ImportReport, JournalImport
from app.analytics.models import Click, Counter, Loss, Position, Term
from app.analytics.rollup_models import LinkQuarter, OwnerDay, OwnerQuarter
from app.core.config import Settings
from app.journal import segments
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.clickhouse_server import ClickHouseServer
from tests.factories import Factory

SUMS: dict[str, tuple[Any, str, str]] = {
    "link_quarter": (LinkQuarter, "link_id", "pageviews"),
    "owner_quarter": (OwnerQuarter, "workspace_id", "pageviews"),
    "owner_day": (OwnerDay, "workspace_id", "visits"),
}


RunImport = Callable[..., ImportReport]


class Crash(BaseException):
    """Ends a piece of work as a kill does: nothing catches it."""


class Tables:
    """Committed rows, read by a connection of its own."""

    def __init__(self, settings: Settings) -> None:
        self.engine = open_engine(settings)

    def all(self, model: Any, *columns: str) -> list[tuple[Any, ...]]:
        table: Table = model.__table__
        wanted = [table.c[name] for name in columns] or [table]
        with self.engine.connect().execution_options(reads=True) as connection:
            return [tuple(row) for row in connection.execute(select(*wanted).order_by(*table.primary_key))]

    def counters(self) -> dict[int, int]:
        return dict(self.all(Counter))  # type: ignore[arg-type]

    def rows(self) -> list[tuple[int, int]]:
        """(time_ms, link_id) of each click, in the order of ids."""
        return self.all(Click, "time_ms", "link_id")  # type: ignore[return-value]

    def positions(self) -> dict[str, tuple[int, int]]:
        return {name: (counters, rows) for name, counters, rows in self.all(Position)}

    def terms(self) -> dict[int, str]:
        return dict(self.all(Term, "id", "value"))  # type: ignore[arg-type]

    def sums(self, table: str) -> dict[int, int]:
        """The number of clicks in a roll-up, by link or owner."""
        model, whose, count = SUMS[table]
        found: Tally[int] = Tally()
        for who, visits in self.all(model, whose, count):
            found[who] += visits
        return dict(found)

    def damaged(self) -> int:
        return sum(lines for _reason, lines in self.all(Loss))


@pytest.fixture(scope="session")
def clickhouse_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    server = ClickHouseServer(tmp_path_factory.mktemp("clickhouse"))
    yield server.start()
    server.stop()


@pytest.fixture
def clickhouse_url(clickhouse_server: ClickHouseServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a database of this test's own. Nothing rests between two inserts."""
    monkeypatch.setattr(writer, "REST_SECONDS", 0)
    name = f"test_{uuid.uuid4().hex}"
    url = clickhouse_server.database(name)
    make_tables(clickhouse_of(url))
    yield url
    clickhouse_of.cache_clear()
    clickhouse_server.query(f"DROP DATABASE IF EXISTS {name}")


@pytest.fixture
def tables(settings: Settings) -> Iterator[Tables]:
    tables = Tables(settings)
    yield tables
    tables.engine.dispose()


@pytest.fixture
def directory(settings: Settings) -> Path:
    return segments.directory_of(settings.data_dir)


@pytest.fixture
def journal(directory: Path) -> Iterator[Journal]:
    journal = Journal(directory)
    yield journal
    journal.close()


@pytest.fixture
def make_ingest(settings: Settings) -> Iterator[Callable[[], Ingest]]:
    made: list[Ingest] = []

    def make() -> Ingest:
        made.append(Ingest(settings))
        return made[-1]

    yield make
    for ingest in made:
        ingest.close()


@pytest.fixture
def ingest(make_ingest: Callable[[], Ingest]) -> Ingest:
    return make_ingest()


@pytest.fixture
def visit(journal: Journal) -> Callable[..., None]:
    """`visit(1, 1, 2)`: writes a click on each of these links, the first at 1 ms, the next at 2 ms …"""
    moment = 0

    def write(*link_ids: int, **fields: Any) -> None:
        nonlocal moment
        for link_id in link_ids:
            moment += 1
            line = encode(
                Visit(**{"time_ms": moment, "link_id": link_id, "workspace_id": 1, "is_bot": 0, **fields})
            )
            assert journal.append(line)

    return write


@pytest.fixture
def write(journal: Journal, ingest: Ingest) -> Callable[[list[Visit]], None]:
    """`write(visits)`: writes these clicks to the journal, and ingests them."""

    def write(visits: list[Visit]) -> None:
        assert all(journal.append(encode(visit)) for visit in visits)
        take_in(ingest)

    return write


def take_in(ingest: Ingest) -> None:
    """Ingests all that is possible, and removes finished segments."""
    while ingest.step():
        pass
    ingest.tend()


@pytest.fixture
def rescued(tmp_path: Path) -> Path:
    directory = tmp_path / "rescued"
    directory.mkdir()
    return directory


@pytest.fixture
def run(settings: Settings, rescued: Path) -> RunImport:
    """`run()` imports what is in `rescued`, `run(directory, takes_old=True)` another journal."""

    def import_all(directory: Path = rescued, **options: bool) -> ImportReport:
        made = JournalImport(settings, directory, **options)
        try:
            return made.run()
        finally:
            made.close()

    return import_all


@pytest.fixture
def loaded(visits: list[Visit], write: Callable[[list[Visit]], None], factory: Factory, alice: User) -> Any:
    """A session that finds the module's `visits` in the tables, and Alice's links that they clicked."""
    for id_ in sorted({visit.link_id for visit in visits if visit.workspace_id == alice.id}):
        factory.link(alice, id=id_)
    write(visits)
    factory.session.rollback()
    return factory.session
