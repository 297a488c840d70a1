"""Fair pool of threads: few items at once, fewer of each owner, and one at a time of each server.

So an owner with many links to servers that hang, or one server that hangs, uses up neither the threads nor
the time of the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

THREADS = 16
OWNER_THREADS = 2
SERVER_PAUSE = 1.0  # between two requests to one server
TICK_SECONDS = 0.05


class PoolItem(Protocol):
    @property
    def workspace_id(self) -> int: ...

    @property
    def server(self) -> str: ...


T = TypeVar("T", bound=PoolItem)
R = TypeVar("R")


class FairPool:
    """How many threads each owner uses, and when each server may be asked again."""

    def __init__(self) -> None:
        self.owners: Counter[int] = Counter()
        self.asked: dict[str, float] = {}

    def is_free(self, item: PoolItem) -> bool:
        is_rested = time.monotonic() >= self.asked.get(item.server, 0.0)
        return is_rested and self.owners[item.workspace_id] < OWNER_THREADS

    def begin(self, item: PoolItem) -> None:
        self.owners[item.workspace_id] += 1
        self.asked[item.server] = float("inf")

    def end(self, item: PoolItem) -> None:
        self.owners[item.workspace_id] -= 1
        self.asked[item.server] = time.monotonic() + SERVER_PAUSE

    def forget_rested(self) -> None:
        """Forget servers that may be asked again, and owners without a thread: a loop meets ever new ones."""
        moment = time.monotonic()
        self.asked = {server: until for server, until in self.asked.items() if until > moment}
        self.owners = +self.owners


def run_fairly(
    items: Sequence[T], work: Callable[[T], R], *, seconds: float
) -> Iterator[tuple[T, Future[R]]]:
    """Yields each item begun within `seconds`, with its future, as it ends. Earlier items go first."""
    waiting, running, fair = list(items), dict[Future[R], T](), FairPool()
    until = time.monotonic() + seconds
    with ThreadPoolExecutor(THREADS) as pool:
        while running or (waiting and time.monotonic() < until):
            for item in [one for one in waiting if len(running) < THREADS and time.monotonic() < until]:
                if len(running) < THREADS and fair.is_free(item):
                    waiting.remove(item)
                    fair.begin(item)
                    running[pool.submit(work, item)] = item
            if not running:
                time.sleep(TICK_SECONDS)
                continue
            for future in wait(running, TICK_SECONDS, FIRST_COMPLETED).done:
                item = running.pop(future)
                fair.end(item)
                yield item, future
