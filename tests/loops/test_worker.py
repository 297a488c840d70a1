"""Worker: an error in one duty, step or thread ends none of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy.orm import Session

from app.core.config import Settings
from app.core.error_boundary import boundaries
from app.jobs.worker import Worker, WorkerThreads
from tests.loops.conftest import ERRORS, raiser
from tests.server import wait_for

DUTIES = (
    *("heartbeat", "checkpoint", "clicks of lists", "changes of links", "visitors' keys"),
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
