"""Interned texts are removed with the last row that uses them, and no row names a removed one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from app.analytics import erasure, interning_cleanup, interning_state, rollup, rows
from app.analytics import upkeep as upkeep_module
from app.analytics.engine import checkpoint_wal
from app.analytics.ingest import Ingest
from app.analytics.interning_cleanup import remove_unused
from app.analytics.models import Click
from app.analytics.rollup_models import Agent, LinkValue, OwnerValue
from app.analytics.upkeep import Upkeep
from app.core.config import Settings
from app.journal.codec import Visit
from tests.analytics.conftest import Tables, take_in
from tests.analytics.load import AGENTS

pytestmark = pytest.mark.databases
MAIL = "jane.roe@example.org"  # personal data, as some newsletters put into their links
ALICE, BOB = 1, 2
NOW = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
SAID = {"utm_source": MAIL, "referrer_host": "mail.example", "referrer_path": f"/{MAIL}", "agent": AGENTS[0]}
NAMED = [f"{name}_id" for name in rows.TEXTS]
DESCRIBED = ["device_type_id", "os_name_id", "browser_name_id"]

Write = Callable[..., None]


@pytest.fixture
def engine(tables: Tables) -> Engine:
    return tables.engine


@pytest.fixture
def write(visit: Write, ingest: Ingest) -> Write:
    """Writes and ingests clicks on a user's link, which has the same id as the user."""

    def write(workspace_id: int, **fields: Any) -> None:
        visit(workspace_id, workspace_id=workspace_id, **fields)
        take_in(ingest)

    return write


def used_ids(tables: Tables) -> set[int]:
    found = {id_ for row in tables.all(Click, *NAMED) for id_ in row}
    found |= {id_ for row in tables.all(Agent, *DESCRIBED) for id_ in row}
    for model in (OwnerValue, LinkValue):
        found |= {id_ for row in tables.all(model, "value_id", "path_id") for id_ in row}
    return found - {None, 0}


def texts(tables: Tables) -> set[str]:
    """All stored texts. Checks that every row finds its texts."""
    terms = tables.terms()
    assert used_ids(tables) <= {*terms}, "a row names a text that is gone"
    agents = {id_ for (id_,) in tables.all(Agent, "id")}
    assert agents <= {*terms}
    return {*terms.values()} - {interning_cleanup.NO_TEXT}


def used_texts(tables: Tables) -> set[str]:
    terms = tables.terms()
    return {terms[id_] for id_ in used_ids(tables)}


def run(steps: Iterator[None]) -> int:
    return sum(1 for _ in steps)


def test_they_go_with_the_last_row(
    write: Write, tables: Tables, engine: Engine, settings: Settings, database: str
) -> None:
    write(ALICE, utm_medium="mail", **SAID)
    write(BOB, utm_medium="mail", agent=AGENTS[1])
    erasure.erase_clicks(settings, ALICE, [[ALICE]])
    assert MAIL in texts(tables)
    run(remove_unused(engine))
    assert texts(tables) == used_texts(tables)
    assert texts(tables) >= {"mail", AGENTS[1], "iOS"}
    assert not texts(tables) & {MAIL, f"/{MAIL}", "mail.example", AGENTS[0], "Windows"}
    if database == "sqlite":
        assert checkpoint_wal(engine)
        assert MAIL.encode() not in (settings.data_dir / "clicks.db").read_bytes()
    # the ingest does not use the removed ids that it has in memory
    write(BOB, **SAID)
    assert texts(tables) == used_texts(tables) >= {MAIL, AGENTS[0], "Windows"}
    assert len(tables.all(Agent)) == 2


def test_they_go_with_retention_and_roll_ups_keep_theirs(
    write: Write, tables: Tables, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(ALICE, bot_name="curl", is_bot=1, **SAID)
    monkeypatch.setattr(upkeep_module, "REST_SECONDS", 0.0)
    upkeep = Upkeep(settings)
    for _ in range(4):  # several rests: no text is removed while rows are
        while upkeep.step(NOW):
            pass
    upkeep.close()
    assert tables.rows() == []
    assert texts(tables) == used_texts(tables) >= {MAIL, "Windows"}
    assert not texts(tables) & {AGENTS[0], "curl"}
    with tables.engine.connect() as connection:
        assert interning_state.due_count(connection) is None, "it is done, until rows go again"


def test_visits_that_come_at_any_step_find_their_texts(
    write: Write, tables: Tables, engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clicks have texts that were unused just before, and whose ids the ingest has in memory."""
    monkeypatch.setattr(interning_cleanup, "PAGE", 2)
    monkeypatch.setattr(interning_cleanup, "BATCH_SIZE", 3)
    step, is_over = 0, False
    while not is_over:
        write(BOB, country_code="DE")
        write(ALICE, **SAID)
        erasure.erase_clicks(settings, ALICE, [[ALICE]])
        steps = remove_unused(engine)
        is_over = any(next(steps, "over") == "over" for _ in range(step))
        write(BOB, **SAID)
        run(steps)
        assert texts(tables) == used_texts(tables) >= {*SAID.values()}
        assert {row[0] for row in tables.all(Agent, "id")} <= used_ids(tables)
        # the next process does what a killed one left undone
        erasure.erase_clicks(settings, BOB, [[BOB]])
        steps = remove_unused(engine)
        for _ in range(step):
            next(steps, None)
        steps.close()
        run(remove_unused(engine))
        assert texts(tables) == set()
        step += 1
    assert step > 5


def test_a_row_that_is_not_committed_yet_keeps_its_texts(
    write: Write, ingest: Ingest, tables: Tables, engine: Engine, settings: Settings
) -> None:
    write(ALICE, **SAID)
    erasure.erase_clicks(settings, ALICE, [[ALICE]])
    steps = remove_unused(engine)
    next(steps)
    with engine.begin() as other:
        rows.append_clicks(other, ingest._terms, [Visit(5, BOB, BOB, 0, utm_source=MAIL)])
        with pytest.raises(OperationalError):  # it waits for a second, and is retried later
            run(steps)
    run(remove_unused(engine))
    assert texts(tables) == {MAIL}


def test_a_visit_of_another_process_at_the_last_moment_keeps_its_texts(
    write: Write, tables: Tables, engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows can be committed between the last page that was read and the transaction that removes."""
    write(ALICE, **SAID)
    erasure.erase_clicks(settings, ALICE, [[ALICE]])
    real = interning_cleanup.remove_some

    def remove_some(*arguments: Any) -> None:
        if not tables.rows():
            write(BOB, **SAID)
        real(*arguments)

    monkeypatch.setattr(interning_cleanup, "remove_some", remove_some)
    run(remove_unused(engine))
    assert texts(tables) == used_texts(tables) >= {*SAID.values()}


def test_a_late_row_that_moves_to_the_roll_ups_meanwhile_keeps_its_texts(
    write: Write, tables: Tables, engine: Engine, settings: Settings
) -> None:
    """Another process may prune rows that came after the clicks were marked, and before the roll-ups are."""
    write(ALICE, country_code="DE")
    write(BOB, **SAID)
    run(rollup.prune_day(engine, ALICE, 0))
    erasure.erase_clicks(settings, BOB, [[BOB]])
    steps = remove_unused(engine)
    for _ in range(3):  # the steps that read clicks and roll-ups
        next(steps)
    write(ALICE, utm_source=MAIL)
    run(rollup.prune_day(engine, ALICE, 0))
    run(steps)
    assert {"DE", MAIL} <= texts(tables)
    with engine.connect() as connection:
        assert interning_state.due_count(connection) is not None, "it is begun anew"
    run(remove_unused(engine))
    assert texts(tables) == {"DE", MAIL}


def test_a_number_is_never_given_to_another_text(
    write: Write, tables: Tables, engine: Engine, settings: Settings
) -> None:
    seen: dict[int, str] = {}
    for number in range(3):
        write(ALICE, utm_source=f"{MAIL}{number}")
        for id_, text in tables.terms().items():
            assert not text or seen.setdefault(id_, text) == text
        erasure.erase_clicks(settings, ALICE, [[ALICE]])
        run(remove_unused(engine))
        assert texts(tables) == set()
        assert len(tables.terms()) == 1, "the last row stays without its text; the one before goes"


def test_one_that_can_not_go_keeps_no_other(
    write: Write, tables: Tables, engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(ALICE, **SAID)
    erasure.erase_clicks(settings, ALICE, [[ALICE]])
    [bad] = [id_ for id_, text in tables.terms().items() if text == MAIL]
    real = interning_cleanup.remove_some

    def fail(engine: Engine, marks: Any, table: Any, ids: Any) -> None:
        if bad in ids:
            raise RecursionError
        real(engine, marks, table, ids)

    with monkeypatch.context() as patched:
        patched.setattr(interning_cleanup, "remove_some", fail)
        with pytest.raises(RecursionError):  # raised so that the caller waits before a retry
            run(remove_unused(engine))
    assert texts(tables) == {MAIL}
    run(remove_unused(engine))
    assert texts(tables) == set()


def test_a_roll_up_under_way_writes_nothing_of_an_owner_who_goes(
    write: Write, tables: Tables, engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise texts of removed clicks would stay in use for ever."""
    monkeypatch.setattr("app.analytics.rollup_models.MANY", 1)
    write(ALICE, **SAID)
    steps = rollup.roll_up(engine, ALICE, 0)
    next(steps)

    def links_of() -> Iterator[list[int]]:
        run(steps)  # the clicks are removed by now
        yield from ()

    erasure.erase_clicks(settings, ALICE, links_of())
    assert tables.all(LinkValue) == tables.all(OwnerValue) == []
    run(remove_unused(engine))
    assert texts(tables) == set()
