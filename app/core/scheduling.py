"""How soon the kernel lets a thread run: Linux's time slices and priorities, set without any permission.

A thread with a short slice takes the core at once from one with a longer slice (Linux 6.12 and newer: the
slice is `sched_runtime` of sched_setattr(2), 0.1 to 100 ms). With equal slices a thread that has work to do
waits for the next tick, up to 4 ms, if all cores are busy. Older kernels ignore slices, and other systems
have none: nothing is changed there.
"""

# see docs/decisions/2026-11-24-slices-of-threads.md, docs/decisions/2026-11-26-giving-way.md

from __future__ import annotations

import ctypes
import logging
import os
import platform
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

SHORT_MS, LONG_MS = 0.1, 3.0  # of threads that answer redirects; of all others of a web process
WORKER_MS = 0.3  # what a yield costs it: a long slice would leave it too little beside busy redirects
YIELD_NS = 100_000
# numbers of sched_setattr and sched_getattr
SYSTEM_CALLS = {"x86_64": (314, 315), "aarch64": (274, 275), "riscv64": (274, 275)}
ATTRIBUTES = struct.Struct("=IIQiIQQQ")  # size, policy, flags, nice, priority, slice (ns), deadline, period
SLICE = 5

T = TypeVar("T")

log = logging.getLogger(__name__)


def set_slice(milliseconds: float) -> None:
    """Set the slice of the calling thread and of all that it starts later. Everything else stays as it is."""
    attributes = read_attributes(0)
    if attributes is None:
        return
    attributes[SLICE] = round(milliseconds * 1_000_000)
    buffer = ctypes.create_string_buffer(ATTRIBUTES.pack(*attributes), ATTRIBUTES.size)
    if call(0, 0, buffer, 0):
        log.debug("the slice of a thread stays as it is: %s", os.strerror(ctypes.get_errno()))


class Turn:
    """When this process last gave way."""

    ended = 0


def give_way() -> None:
    """Let threads that wait for the core run first, if this process has computed for some time.

    The kernel takes a core from a thread only at its ticks, up to 4 ms apart, where those that wait have used
    more than their share: such is a thread that answers redirects and yields until the next one comes.
    """
    now = time.perf_counter_ns()
    if now - Turn.ended > YIELD_NS:
        os.sched_yield()
        Turn.ended = time.perf_counter_ns()


def giving_way(items: Iterable[T]) -> Iterator[T]:
    """The items, one by one, giving way before each."""
    for item in items:
        give_way()
        yield item


def lower_priority(steps: int) -> None:
    """Lower the calling thread's priority, on Linux only; elsewhere it would be the whole process's."""
    if sys.platform == "linux":
        os.nice(steps)


def read_attributes(thread: int) -> list[int] | None:
    """What the kernel knows of a thread, 0 for the calling one; None where there is no such call."""
    buffer = ctypes.create_string_buffer(ATTRIBUTES.size)
    return None if call(1, thread, buffer, ATTRIBUTES.size, 0) else list(ATTRIBUTES.unpack(buffer.raw))


def call(number: int, *arguments: object) -> int:
    """Call sched_setattr (0) or sched_getattr (1). Anything but 0 means that it failed or is not there."""
    numbers = SYSTEM_CALLS.get(platform.machine())
    if sys.platform != "linux" or numbers is None:
        return -1
    answer: int = ctypes.CDLL(None, use_errno=True).syscall(numbers[number], *arguments)
    return answer
