"""Tests of the pauses before refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.http_server import pauses as module
from app.http_server.pauses import Pauses


def run(test: Callable[[Pauses], None], *, turns: int = 3) -> None:
    """Run a test on an event loop, and give the loop some turns."""

    async def begin() -> None:
        test(Pauses(asyncio.get_running_loop()))
        for _ in range(turns):
            await asyncio.sleep(0)

    with ThreadPoolExecutor(1) as pool:  # in a thread: this one may have a browser's loop running
        pool.submit(asyncio.run, begin()).result()


def test_an_answer_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 3600)
    given: list[str] = []

    def test(pauses: Pauses) -> None:
        pauses.wait(lambda: given.append("first"))
        (paused,) = pauses.waiting
        assert pauses.timer is not None
        assert (given, pauses.timer.when()) == ([], paused.due)
        assert paused.due > pauses.loop.time() + 3500

    run(test)
    assert given == []


def test_it_is_given_once_after_its_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0)
    given: list[str] = []
    kept: list[Pauses] = []

    def test(pauses: Pauses) -> None:
        kept.append(pauses)
        pauses.answer_later(lambda: given.append("first"))

    run(test, turns=10)
    assert (given, list(kept[0].waiting)) == (["first"], [])


def test_answers_that_are_due_together_are_given_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those who were refused together come again together; redirects go in between."""
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(module, "STEP_SECONDS", 3600)
    given: list[int] = []
    kept: list[Pauses] = []

    def test(pauses: Pauses) -> None:
        kept.append(pauses)
        for number in range(3):
            pauses.wait(lambda number=number: given.append(number))  # type: ignore[misc]

    run(test, turns=10)
    assert (given, len(kept[0].waiting)) == ([0], 2)


def test_answers_go_on_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(module, "STEP_SECONDS", 0)
    given: list[int] = []

    def test(pauses: Pauses) -> None:
        for number in range(3):
            pauses.wait(lambda number=number: given.append(number))  # type: ignore[misc]

    run(test, turns=20)
    assert given == [0, 1, 2]


@pytest.mark.parametrize("is_ended", [False, True], ids=["after its pause", "at the end"])
def test_an_answer_that_fails_holds_up_no_other(
    is_ended: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 3600 if is_ended else 0)
    monkeypatch.setattr(module, "STEP_SECONDS", 0)
    given: list[str] = []

    def test(pauses: Pauses) -> None:
        pauses.wait(lambda: [][0])
        pauses.wait(lambda: given.append("second"))
        if is_ended:
            pauses.end()

    run(test, turns=20)
    assert given == ["second"]
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_more_than_may_wait_are_given_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    given: list[int] = []

    def test(pauses: Pauses) -> None:
        for number in range(4):
            pauses.wait(lambda number=number: given.append(number))  # type: ignore[misc]
        assert (given, len(pauses.waiting)) == ([2, 3], 2)

    run(test)


def test_the_end_gives_all_and_lets_none_wait() -> None:
    given: list[int] = []

    def test(pauses: Pauses) -> None:
        for number in range(3):
            pauses.wait(lambda number=number: given.append(number))  # type: ignore[misc]
        pauses.end()
        assert (given, list(pauses.waiting)) == ([0, 1, 2], [])
        pauses.wait(lambda: given.append(3))
        assert given == [0, 1, 2, 3]

    run(test)


@pytest.mark.parametrize("seconds", [0, 3600], ids=["work that ends", "work that does not"])
def test_a_pause_is_spent_on_some_work(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.05)
    done: list[str] = []

    async def work() -> None:
        done.append("begun")
        await asyncio.sleep(seconds)
        done.append("ended")

    async def test() -> None:
        await Pauses(asyncio.get_running_loop()).spend(work())
        done.append("spent")
        assert len(asyncio.all_tasks()) == 1

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, test()).result()
    assert done == ["begun", *(["ended"] if not seconds else []), "spent"]
