"""Thread pools: threads and queues are bounded, and networks take turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from app.http_server import pools
from app.http_server.pools import Pool, RequestJob, waiting_elsewhere
from tests.server import wait_for

SECONDS = 60


class Work:
    """Jobs that record when they run, and end on a signal of the test."""

    def __init__(self) -> None:
        self.began: SimpleQueue[str] = SimpleQueue()
        self.may_end = threading.Semaphore(0)
        self.refused: list[str] = []

    def job(self, network: str) -> RequestJob:
        def run() -> None:
            self.began.put(network)
            self.may_end.acquire(timeout=SECONDS)

        return RequestJob(network, run, lambda: self.refused.append(network))

    def next(self) -> str:
        return self.began.get(timeout=SECONDS)


@pytest.fixture
def work() -> Iterator[Work]:
    work = Work()
    yield work
    work.may_end.release(1000)


@pytest.fixture
def make_pool() -> Callable[..., Pool]:
    def make(
        threads: int = 1,
        queue: int = 100,
        wait_seconds: float = SECONDS,
        active: int | None = None,
        at_once: int | None = None,
    ) -> Pool:
        pool = Pool(
            "test", threads=threads, queue=queue, wait_seconds=wait_seconds, active=active, at_once=at_once
        )
        pool.start()
        return pool

    return make


def test_networks_take_turns(make_pool: Callable[..., Pool], work: Work) -> None:
    pool = make_pool()
    pool.submit(work.job("flood"))
    order = [work.next()]
    for network in (*["flood"] * 5, "a", "b", "b"):
        pool.submit(work.job(network))
    for _ in range(8):
        work.may_end.release()
        order.append(work.next())
    assert order == ["flood", "flood", "a", "b", "flood", "b", "flood", "flood", "flood"]
    assert not work.refused


def test_one_network_never_has_all_threads(make_pool: Callable[..., Pool], work: Work) -> None:
    pool = make_pool(threads=4)
    for _ in range(10):
        pool.submit(work.job("flood"))
    assert [work.next() for _ in range(3)] == ["flood"] * 3
    pool.submit(work.job("a"))
    assert work.next() == "a"
    assert work.began.empty()
    assert pool.running == {"flood": 3, "a": 1}


def test_a_full_queue_refuses_and_leaves_room_for_others(make_pool: Callable[..., Pool], work: Work) -> None:
    pool = make_pool(queue=8)
    pool.submit(work.job("flood"))
    assert work.next() == "flood"
    for _ in range(20):
        pool.submit(work.job("flood"))
    assert len(work.refused) == 20 - 6
    for _ in range(3):
        pool.submit(work.job("a"))
    assert work.refused.count("a") == 1
    assert pool.waiting_count == 8
    assert {network: len(jobs) for network, jobs in pool.waiting.items()} == {"flood": 6, "a": 2}


def test_what_waited_too_long_is_refused(make_pool: Callable[..., Pool], work: Work) -> None:
    pool = make_pool(wait_seconds=0)
    pool.submit(work.job("a"))
    pool.submit(work.job("a"))
    pool.wait_seconds = -1
    late = threading.Event()
    pool.submit(RequestJob("b", work.may_end.release, late.set))
    work.may_end.release(5)
    assert late.wait(SECONDS)


def test_a_job_that_raises_costs_no_thread(make_pool: Callable[..., Pool], work: Work, caplog) -> None:  # type: ignore[no-untyped-def]
    pool = make_pool()
    for _ in range(3):
        pool.submit(RequestJob("a", lambda: 1 / 0, lambda: None))  # type: ignore[arg-type, return-value]
    pool.submit(work.job("a"))
    assert work.next() == "a"
    assert sum("a job of the pool test failed" in record.message for record in caplog.records) == 3
    assert pool.running == {"a": 1}


def test_nothing_of_a_network_stays(make_pool: Callable[..., Pool], work: Work) -> None:
    pool = make_pool(queue=2)
    for number in range(50):
        pool.submit(work.job(f"192.0.2.{number}"))
    work.may_end.release(100)
    for _ in range(50 - len(work.refused)):
        work.next()
    done = threading.Event()
    pool.submit(RequestJob("last", done.set, done.set))
    assert done.wait(SECONDS)
    assert not pool.waiting


def test_few_threads_compute_at_a_time(make_pool: Callable[..., Pool], work: Work) -> None:
    pool = make_pool(threads=8, active=2)
    for network in ("a", "b", "c"):
        pool.submit(work.job(network))
    assert {work.next(), work.next()} == {"a", "b"}
    assert (pool.active, pool.waiting_count) == (2, 1)
    work.may_end.release()
    assert work.next() == "c"


def test_while_a_thread_waits_elsewhere_another_computes(make_pool: Callable[..., Pool], work: Work) -> None:
    """A thread that returns waits for a free turn, and goes before jobs that have not begun."""
    pool = make_pool(threads=8, active=1)
    is_made, order = threading.Event(), SimpleQueue[str]()

    def wait_for_another_thread() -> None:
        with waiting_elsewhere():
            order.put("waits")
            is_made.wait(SECONDS)
        order.put("is back")

    pool.submit(RequestJob("a", wait_for_another_thread, lambda: None))
    assert order.get(timeout=SECONDS) == "waits"
    pool.submit(work.job("b"))
    assert work.next() == "b"
    pool.submit(RequestJob("c", lambda: order.put("begins"), lambda: None))
    is_made.set()
    wait_for(lambda: pool.resuming, "the thread that is back")
    assert order.empty()
    work.may_end.release()
    assert [order.get(timeout=SECONDS) for _ in range(2)] == ["is back", "begins"]
    wait_for(lambda: pool.active == 0, "the end of all jobs")


def test_short_jobs_follow_each_other(
    make_pool: Callable[..., Pool], work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "SHORT_SECONDS", 3600.0)
    pool = make_pool(threads=8, at_once=1)
    for network in ("a", "b", "c"):
        pool.submit(work.job(network))
    for network in ("a", "b", "c"):
        assert work.next() == network
        assert (pool.active, work.began.empty()) == (1, True)
        work.may_end.release()
    wait_for(lambda: not pool.begun, "the end of all jobs")


def test_a_job_that_takes_long_keeps_no_other_from_beginning(
    make_pool: Callable[..., Pool], work: Work
) -> None:
    """Neither one that waits already, nor one that comes later."""
    pool = make_pool(threads=4, at_once=1)
    for network in ("a", "b", "c"):
        pool.submit(work.job(network))
    assert [work.next() for _ in range(3)] == ["a", "b", "c"]
    pool.submit(work.job("d"))
    assert work.next() == "d"
    assert pool.active == 4
    pool.submit(work.job("e"))  # no thread is left
    work.may_end.release()
    assert work.next() == "e"


def test_a_pool_rests_after_each_job(monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    """The next job waits for the end of the pause."""
    rests, may_go_on = SimpleQueue[float](), threading.Semaphore(0)

    def rest(seconds: float) -> None:
        rests.put(seconds)
        may_go_on.acquire(timeout=SECONDS)

    monkeypatch.setattr(pools, "time", SimpleNamespace(monotonic=time.monotonic, sleep=rest))
    pool = Pool("test", threads=1, queue=100, wait_seconds=SECONDS, pause_seconds=0.25)
    pool.start()
    work.may_end.release(2)
    pool.submit(work.job("a"))
    pool.submit(work.job("b"))
    assert work.next() == "a"
    assert rests.get(timeout=SECONDS) == 0.25
    assert work.began.empty()
    may_go_on.release()
    assert work.next() == "b"
    may_go_on.release(1000)


def test_elsewhere_is_free_for_threads_of_no_pool() -> None:
    with waiting_elsewhere():
        pass
