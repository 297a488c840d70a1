"""Child processes for tests: run a call in a process of its own, which the test may kill at any moment."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable

import pytest

# newer versions of Python warn of forks with threads, which are tested here
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")

PR_SET_PDEATHSIG = 1  # of Linux's prctl.h


class Child:
    """A forked process that makes one call. Its exit status is 0 if the call returned."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            run(call)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL, "it ended before it was killed"

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def run(call: Callable[[], object]) -> None:
    """Make the call and exit. The child must not return into the test, whatever happens."""
    status = 1
    try:
        end_with_parent()
        call()
        status = 0
    except BaseException:  # noqa: BLE001  shown, and told by the status
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def end_with_parent() -> None:
    """End when the test's process does, on Linux: it would keep that one's pipe to pytest open."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
