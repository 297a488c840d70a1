"""A PostgreSQL that hangs at any moment of the ingest: it gives up in time, and no click is lost or counted twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.analytics import engine
from app.analytics.ingest import Ingest
from app.core.patience import INGEST
from tests.analytics.conftest import Tables, take_in
from tests.migrations import migrate
from tests.postgres_server import PostgresServer
from tests.server import wait_for

pytestmark = pytest.mark.full

FREEZES, VISITS = 8, 400


@pytest.fixture
def database_url(postgres_server: PostgresServer, tmp_path: Path) -> str:
    """Of a server of this test's own, migrated."""
    migrate(tmp_path / "elsewhere", postgres_server.url)
    return postgres_server.url


def test_it_hangs_at_any_moment(
    make_ingest: Callable[[], Ingest],
    postgres_server: PostgresServer,
    tables: Tables,
    visit: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "INGEST", replace(INGEST, silence=0.4, connect=2))
    ingest, ended = make_ingest(), threading.Event()
    silences = Counter[str]()

    def work() -> None:
        while not ended.is_set():
            if not ingest.step():
                silences[ingest._hindrance.read()] += 1
                ended.wait(0.01)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for number in range(1, FREEZES + 1):
            visit(*[7] * VISITS)
            ended.wait(0.003 * number)  # another moment of the ingest each time
            postgres_server.freeze()
            visit(*[8] * VISITS)
            said = silences.total()
            wait_for(lambda said=said: silences.total() > said + 1, "an ingest that gave up")  # type: ignore[misc]
            postgres_server.thaw()
    finally:
        ended.set()
        worker.join()
    take_in(ingest)
    assert any("no answer in time" in said for said in silences), silences
    assert tables.counters() == {7: FREEZES * VISITS, 8: FREEZES * VISITS}
    assert Counter(link_id for _, link_id in tables.rows()) == {7: FREEZES * VISITS, 8: FREEZES * VISITS}
