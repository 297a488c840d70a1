"""Things done at once, as by concurrent requests: each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

SECONDS = 90
Found = TypeVar("Found")


def at_once(act: Callable[[Any], Found], arguments: Iterable[Any]) -> list[Found]:
    """What `act` returns for each argument, in their order. It begins when all threads are there."""
    each = list(arguments)
    together = threading.Barrier(len(each))

    def run(argument: Any) -> Found:
        together.wait(SECONDS)
        return act(argument)

    with ThreadPoolExecutor(len(each)) as pool:
        return list(pool.map(run, each))
