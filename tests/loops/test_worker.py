"""Worker: an error in one duty, step or thread ends none of the others."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session

from app.core.config import Settings
from app.core.error_boundary import boundaries
from app.jobs.subprocesses import ProgramRunner
from app.jobs.worker import Worker, WorkerThreads
from app.journal import daily_salt
from tests.loops.conftest import ERRORS, raiser
from tests.server import wait_for

DUTIES = (
    *("heartbeat", "checkpoint", "changes of links", "visitors' keys"),
    *("copies of pictures", "counts of errors"),
)


@pytest.fixture
def worker(settings: Settings, session: Session) -> Iterator[Worker]:
    worker = Worker(settings)
    worker.quiet = None  # each turn has a step, also where nothing was written
    yield worker
    worker.ingest.close()
    worker.upkeep.close()


def test_duties(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tuple(duty.name for duty in worker.duties) == DUTIES, "one was added: nothing to change but this"
    done: list[str] = []
    monkeypatch.setattr(worker.ingest, "step", lambda: done.append("ingest"))
    for make_error in ERRORS.values():
        for bad in worker.duties:
            done.clear()
            worker.errors.forget()
            for duty in worker.duties:
                duty.due = 0.0
                duty.run = raiser(make_error) if duty is bad else partial(done.append, duty.name)
            worker.turn()
            assert done == [*(name for name in DUTIES if name != bad.name), "ingest"]
            assert worker.errors.backed_off(str) == [bad.name]


@pytest.mark.parametrize("step", ["ingest", "upkeep"])
def test_steps(worker: Worker, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for make_error in ERRORS.values():
        worker.errors.forget()
        done: list[str] = []
        for duty in worker.duties:
            duty.due, duty.run = 0.0, partial(done.append, duty.name)
        monkeypatch.setattr(worker.ingest, "step", partial(done.append, "ingest"))
        monkeypatch.setattr(worker.upkeep, "step", lambda _now, done=done: done.append("upkeep"))
        monkeypatch.setattr(getattr(worker, step), "step", raiser(make_error))
        worker.turn()
        worker.last_turns()
        assert {*DUTIES, "ingest", "upkeep"} - set(done) == {step}


def test_a_key_that_can_not_be_deleted_keeps_no_other(data_dir: Path, throw: Callable[..., None]) -> None:
    days = [dt.date(2026, 1, day) for day in (1, 2, 3)]
    for day in days:
        daily_salt.day_key(data_dir, day)
    throw(Path, "unlink", lambda path: path.name == "2026-01-02")
    daily_salt.sweep_keys(data_dir, dt.datetime(2026, 1, 9, tzinfo=dt.UTC))
    assert [path.name for path in (data_dir / "keys").iterdir()] == ["2026-01-02"]


THREADS = {"sender": "take", "scheduler": "turn", "importer": "turn", "archiver": "turn"}


def test_threads_go_on(beside: WorkerThreads, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an error of any kind the thread takes its next turn."""
    turns: dict[str, int] = dict.fromkeys(THREADS, 0)
    errors = list(ERRORS.values())

    def make_fail(name: str) -> Callable[..., Any]:
        def fail(*_: Any) -> Any:
            turns[name] += 1
            raise errors[turns[name] % len(errors)]()

        return fail

    for name, step in THREADS.items():
        monkeypatch.setattr(getattr(beside, name), step, make_fail(name))
    monkeypatch.setattr(beside.sender, "quiet", None)  # its own steps catch the errors
    for loop in (beside.importer, beside.archiver):
        monkeypatch.setattr(loop, "retry_seconds", 0.01)
    for boundary in list(boundaries):
        monkeypatch.setattr(boundary, "first_seconds", 0.0)
    for name in THREADS:
        getattr(beside, name).start()
    wait_for(lambda: min(turns.values()) > len(errors), "more turns")
    for name in THREADS:
        getattr(beside, name).stop(60)
        assert not getattr(beside, name).is_alive()


def test_every_kind_of_program_has_one(beside: WorkerThreads) -> None:
    """How one process affects the others is tested in tests/import_export/test_runs.py, for each of these."""
    assert {type(beside.importer), type(beside.archiver)} == set(ProgramRunner.__subclasses__())
