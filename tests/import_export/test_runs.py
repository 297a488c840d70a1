"""Runs of imports: each one ends even if its processes die, and owners take turns."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import create_engine, select

from app.cli import transfer
from app.cli.transfer import STEP_SECONDS, ImportTurn
from app.core.clock import now
from app.core.database import engine_options, prepare_engine
from app.core.machine import machine_id
from app.import_export import archives, files, runs
from app.import_export.models import LinkImport
from app.jobs.subprocesses import Archiver, Importer, ProgramRunner
from app.notifications.models import SystemEmail
from tests.server import wait_for

TABLE = "location_url\n" + "".join(f"https://example.com/{n}\n" for n in range(30))


class Died(BaseException):
    """Stands for the death of a process: no `except Exception` catches it."""


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes reading a row kill the process. Calling the fixture's value ends that."""
    read = runs.read_row

    def die(*_: object) -> None:
        raise Died

    monkeypatch.setattr(runs, "read_row", die)
    return lambda: monkeypatch.setattr(runs, "read_row", read)


def run(job: LinkImport, settings) -> None:
    try:
        runs.run(job.id, settings)
    except Died:
        from app.core.extensions import db

        db.session.rollback()


@pytest.mark.databases
@pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:1", BASE_URL="https://go.example")
@pytest.mark.parametrize("state", ["checking", "taking"])
def test_an_import_that_dies_three_times_has_failed_with_words(session, settings, bring, alice, dying, state):
    job = bring(alice, TABLE, state)
    for tries in (1, 2, 3):
        run(job, settings)
        session.refresh(job)
        assert (job.state, job.tries, job.problem) == (state, tries, "")
    run(job, settings)
    session.refresh(job)
    assert (job.state, job.problem) == ("failed", runs.DIED)
    assert runs.unfinished_imports(session, settings.data_dir) == []
    [letter] = session.scalars(select(SystemEmail))
    assert (letter.email, letter.content["title"]) == (alice.email, "An import has failed")
    assert letter.content["url"] == f"https://go.example/dashboard/imports/{job.id}"
    run(job, settings)
    assert len(session.scalars(select(SystemEmail)).all()) == 1


def test_an_import_that_moves_between_deaths_goes_on(session, settings, bring, alice, dying, monkeypatch):
    monkeypatch.setattr(runs, "BATCH_SIZE", 10)
    job = bring(alice, TABLE)
    run(job, settings)
    run(job, settings)
    dying()
    assert runs.begin(job, settings).step()
    session.rollback()
    session.refresh(job)
    assert (job.position, job.tries) == (10, 0)
    runs.run(job.id, settings)
    session.refresh(job)
    assert (job.state, job.made) == ("done", 30)


# --- turns


@pytest.mark.databases
def test_owners_take_turns(session, settings, bring, alice, bob, make_user):
    carol = make_user("carol@example.com")
    first, second, third, fourth = (bring(user, TABLE) for user in (alice, alice, bob, carol))
    waiting = lambda: [one.id for one in runs.unfinished_imports(session, settings.data_dir)]  # noqa: E731
    assert waiting() == [first.id, second.id, third.id, fourth.id]
    first.last_datetime = now()
    session.commit()
    assert waiting() == [third.id, fourth.id, first.id, second.id], (
        "an owner's other imports had that turn, too"
    )


@pytest.mark.databases
def test_a_turn_ends_for_another_owner_only(session, settings, bring, alice, bob, monkeypatch):
    mine = bring(alice, TABLE)
    assert not runs.must_share(mine.id, settings, slots=1)
    bring(alice, TABLE)
    assert not runs.must_share(mine.id, settings, slots=1), "her own other one waits its turn"
    other = bring(bob, TABLE)
    assert runs.must_share(mine.id, settings, slots=1)
    assert not runs.must_share(mine.id, settings, slots=2), "there is another process for him"
    other.tries = 1
    session.commit()
    assert not runs.must_share(mine.id, settings, slots=1), "processes die of that one: nothing is gained"


def test_no_turn_ends_for_an_owner_who_has_a_process(settings, bring, alice, bob):
    """Even if more of bob's wait: alice's imports would only be restarted again and again."""
    mine, first = bring(alice, TABLE), bring(bob, TABLE)
    bring(bob, TABLE)
    with files.lock_table(settings.data_dir, first.file):
        assert not runs.must_share(mine.id, settings, slots=2)
    assert runs.must_share(mine.id, settings, slots=1)


@pytest.fixture
def turn(session, settings, bring, alice) -> Iterator[ImportTurn]:
    before, limit = signal.getsignal(signal.SIGTERM), resource.getrlimit(resource.RLIMIT_DATA)
    yield ImportTurn(bring(alice, TABLE).id, settings)
    resource.setrlimit(resource.RLIMIT_DATA, limit)
    signal.signal(signal.SIGTERM, before)
    signal.alarm(0)


def test_a_process_ends_after_its_turn_or_when_it_is_told(session, bring, bob, turn, monkeypatch):
    monkeypatch.setattr(transfer, "SLOTS", 1)
    assert not turn.is_over()
    turn.until = 0.0
    assert not turn.is_over(), "nobody waits"
    bring(bob, TABLE)
    assert not turn.is_over(), "a new turn has begun"
    turn.until = 0.0
    assert turn.is_over()
    turn.until = float("inf")
    signal.raise_signal(signal.SIGTERM)
    assert turn.is_over()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "a second one ends it at once"
    assert 0 < signal.alarm(0) <= STEP_SECONDS


# --- processes


EXIT = {
    "ends well": "pass",
    "fails": "raise SystemExit(1)",
    "is killed": "import os; os.kill(os.getpid(), 9)",
}


@pytest.fixture
def engine(settings) -> Iterator:
    engine = create_engine(settings.database_url, **engine_options(settings))
    prepare_engine(engine, settings)
    yield engine
    engine.dispose()


@pytest.fixture
def programs(monkeypatch) -> dict[int, str]:
    """The program that the process of each import runs."""
    found: dict[int, str] = {}

    def start(_self: ProgramRunner, id_: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", found[id_]])

    monkeypatch.setattr(ProgramRunner, "start_process", start)
    return found


def ends(runner: ProgramRunner) -> None:
    def are_over() -> bool:
        runner.reap()
        return not runner.running

    wait_for(are_over, "the ends of the processes")


@pytest.mark.parametrize(("kind", "how"), [*((Importer, how) for how in EXIT), (Archiver, "is killed")])
def test_a_process_that_fails_keeps_nobody_waiting(
    session, settings, engine, bring, alice, bob, make_user, programs, kind, how
) -> None:
    users = [alice, bob, make_user("carol@example.com"), make_user("dave@example.com")]
    if kind is Importer:
        ids = [bring(user, TABLE).id for user in users]
    else:
        for user in users:
            archives.ask(user, "https://go.example")
            session.commit()
        ids = [id_ for id_, _ in archives.unfinished_archives(session, machine_id(settings.data_dir))]
    session.rollback()
    programs |= dict.fromkeys(ids, EXIT["ends well"]) | {ids[0]: EXIT[how], ids[1]: EXIT[how]}
    runner = kind(engine, settings)
    runner.turn()
    assert sorted(runner.running) == ids[:2], "two at once"
    ends(runner)
    runner.turn()
    assert sorted(runner.running) == (ids[:2] if how == "ends well" else ids[2:])
    ends(runner)


def test_one_process_for_each_owner(settings, engine, session, bring, alice, bob, programs):
    ids = [bring(user, TABLE).id for user in (alice, alice, alice, bob)]
    programs |= dict.fromkeys(ids, "import time; time.sleep(600)")
    runner = Importer(engine, settings)
    runner.turn()
    runner.turn()
    assert sorted(runner.running) == [ids[0], ids[3]]
    runner.start()
    processes = [running.process for running in runner.running.values()]
    runner.stop(60)
    assert [process.wait(60) for process in processes] == [-signal.SIGTERM] * 2
