"""Slices of threads: what is set is what the kernel has, and threads of a server have theirs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core import scheduling
from app.core.scheduling import LONG_MS, SHORT_MS, set_slice
from app.http_server.dispatcher import POOLS
from tests.server import Server
from tests.slices import read_slice

pytestmark = pytest.mark.skipif(read_slice(0) is None, reason="this kernel has no slices of threads")


def in_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.mark.parametrize("milliseconds", [SHORT_MS, 1.5, LONG_MS])
def test_a_slice_is_that_of_the_thread_and_of_those_it_starts(milliseconds: float) -> None:
    usual, found = read_slice(0), []

    def work() -> None:
        set_slice(milliseconds)
        found.append(read_slice(0))
        in_thread(lambda: found.append(read_slice(0)))

    in_thread(work)
    assert found == [milliseconds, milliseconds]
    assert read_slice(0) == usual


@pytest.mark.full
def test_threads_that_answer_redirects_go_first(make_server: Callable[..., Server]) -> None:
    server = make_server(PROCESSES="1")
    assert server.process is not None
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    threads = {
        pid: Counter(read_slice(int(task.name)) for task in Path(f"/proc/{pid}/task").iterdir())
        for path in tasks
        for pid in path.read_text().split()
    }
    (web,) = (slices for slices in threads.values() if SHORT_MS in slices)
    pools = (bounds["threads"] for name, bounds in POOLS.items() if name != "redirects")  # not started here
    assert web[LONG_MS] >= sum(pools)
    assert web[SHORT_MS] >= 2  # granian's thread and the event loop's
    assert set(web) == {SHORT_MS, LONG_MS}


def test_who_computes_gives_way_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    moments, yields = iter([0, 100, 150, 300, 320, 400]), []
    monkeypatch.setattr(scheduling, "YIELD_NS", 200)
    monkeypatch.setattr(scheduling.Turn, "ended", -1000)
    monkeypatch.setattr(scheduling.time, "perf_counter_ns", lambda: next(moments))
    monkeypatch.setattr(scheduling.os, "sched_yield", lambda: yields.append(True))
    assert list(scheduling.giving_way("abcd")) == list("abcd")
    assert len(yields) == 2, "at the first one, and 200 ns after that"
    assert next(moments, None) is None
